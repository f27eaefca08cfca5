"""Prints what a model of the OpenAI Agents SDK receives for each wrong call on standard input.

With the argument `formatter`, the tools have a function that writes their errors, as its documentation shows.
"""

import asyncio
import json
import logging
import sys

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tools import RAN, TOOLS

FORMATTED = sys.argv[1:] == ["formatter"]
logging.getLogger("openai.agents").setLevel(logging.CRITICAL)


def write_error(context, error):
    """Returns the text of an error."""
    return f"The tool call failed: {error}"


def declare(function):
    """Returns the tool for a function."""
    return function_tool(function, failure_error_function=write_error) if FORMATTED else function_tool(function)


class Scripted(Model):
    """A model that makes one call, and keeps the answer to it."""

    def __init__(self, case):
        self.case, self.answer = case, None

    async def get_response(self, system_instructions, input, *others, **settings):
        if isinstance(input, str) or len(input) == 1:
            call = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{self.case['id']}",
                name=self.case["tool"],
                arguments=json.dumps(self.case["sent"]),
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        self.answer = next(item["output"] for item in input if item.get("type") == "function_call_output")
        text = ResponseOutputText(type="output_text", text="done", annotations=[])
        message = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *others, **settings):
        raise NotImplementedError


async def main():
    tools = [declare(function) for function in TOOLS]
    for line in sys.stdin:
        case = json.loads(line)
        RAN.clear()
        model = Scripted(case)
        agent = Agent(name="agent", model=model, tools=tools)
        await Runner.run(agent, "Do it.", run_config=RunConfig(tracing_disabled=True))
        answer = model.answer if isinstance(model.answer, str) else json.dumps(model.answer)
        print(json.dumps({"case": case["id"], "ran": RAN[-1] if RAN else None, "answer": answer}))


asyncio.run(main())
