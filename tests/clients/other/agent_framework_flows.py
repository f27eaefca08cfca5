"""Microsoft's Agent Framework, unmodified: the flows that its AG-UI client can express.

python agent_framework_flows.py URL
"""

import asyncio
import json
import sys
import uuid

import httpx
from agent_framework import Message, tool
from agent_framework_ag_ui import AGUIChatClient

END = "All is well that ends."
base = sys.argv[1]
executed = []


@tool
def locate() -> dict:
    """Find the person."""
    executed.append(["locate", {}])
    return {"here": True}


@tool
def show(text: str = "nothing") -> dict:
    """Show a text."""
    executed.append(["show", {"text": text}])
    return {"shown": text}


def call(name, **arguments):
    return {"tool": name, "pieces": [json.dumps(arguments)]}


class Chat:
    """A chat on one device. `earlier` is the same chat on another device, whose thread and interrupts this one has saved."""

    def __init__(self, earlier=None):
        self.thread, self.gate = str(uuid.uuid4()), "g" + uuid.uuid4().hex[:8]
        self.response = None
        if earlier:
            self.thread, self.gate, self.response = earlier.thread, earlier.gate, earlier.response
        self.http = httpx.AsyncClient(headers={"authorization": "Bearer anna"})
        self.client = AGUIChatClient(endpoint=f"{base}/agent", http_client=self.http)

    def script(self, *turns):
        return Message("user", [f"{self.gate} {json.dumps(turns)}"])

    async def send(self, *messages, resume=None):
        options = {"metadata": {"thread_id": self.thread}, "tools": [locate, show]}
        if resume is not None:
            options["resume"] = resume
        self.response = await self.client.get_response(list(messages), options=options)
        return self.response

    async def decide(self, payload):
        """Answers each open interrupt. The server has the conversation, so the request has no messages."""
        interrupts = self.response.additional_properties["interrupts"]
        return await self.send(resume=[{"interruptId": one["id"], "status": "resolved", "payload": payload} for one in interrupts])

    async def removals(self, what=None):
        removed = (await self.http.get(f"{base}/probe/removed")).json()
        return removed.count(what or self.gate)


def contents(response, kind):
    return [content for message in response.messages for content in message.contents if content.type == kind]


async def text_and_calls():
    chat = Chat()
    turn = [call("weather", city="Oslo"), call("breaks", why="rust"), call("weather", city="Rome")]
    response = await chat.send(chat.script(["Look: ", call("weather", city="Bern")], turn, [END]))
    assert response.text.endswith(END) and response.text.startswith("Look: "), response.text
    made = [(one.name, json.loads(one.arguments)) for one in contents(response, "function_call")]
    expected = [("weather", {"city": "Bern"}), ("weather", {"city": "Oslo"}), ("breaks", {"why": "rust"}), ("weather", {"city": "Rome"})]
    assert made == expected, made
    results = {one.call_id: one.result for one in contents(response, "function_result")}
    assert len(results) == 4 and any("it broke: rust" in str(result) for result in results.values()), results
    again = await chat.send(chat.script(["Again."]))
    assert again.text == "Again.", again.text


async def page_tools():
    chat = Chat()
    executed.clear()
    response = await chat.send(chat.script([call("locate")], [call("show", text="one"), call("show", text="two")], [END]))
    assert response.text == END, response.text
    assert executed == [["locate", {}], ["show", {"text": "one"}], ["show", {"text": "two"}]], executed


async def ask():
    """Returns a chat that waits for an approval of a removal."""
    chat = Chat()
    response = await chat.send(chat.script([call("remove", what=chat.gate)], [END]))
    [interrupt] = response.additional_properties["interrupts"]
    assert interrupt["metadata"]["input"] == {"what": chat.gate}, interrupt
    return chat


def results_of(response):
    return [str(one.result) for one in contents(response, "function_result")]


async def page_tool_beside_an_approval():
    chat = Chat()
    executed.clear()
    await chat.send(chat.script([call("show", text="one"), call("remove", what=chat.gate)], [END]))
    assert executed == [["show", {"text": "one"}]], executed
    # The client sends the result by itself, and the run still waits for the approval.
    response = await chat.decide({"approved": True})
    assert response.text == END, response.text
    assert executed == [["show", {"text": "one"}]], executed
    assert await chat.removals() == 1


async def approve_and_deny():
    for approved in (True, False):
        chat = await ask()
        response = await chat.decide({"approved": approved, "reason": "keep it"})
        assert response.text == END, response.text
        [result] = results_of(response)
        assert ("removed" if approved else "keep it") in result, result
        assert await chat.removals() == approved


async def edit():
    chat = await ask()
    refused = await chat.decide({"approved": True, "editedArgs": {"what": 7}})
    [interrupt] = refused.additional_properties["interrupts"]
    assert "expected a string" in interrupt["message"], interrupt
    assert await chat.removals() == 0
    other = chat.gate + "-other"
    response = await chat.decide({"approved": True, "editedArgs": {"what": other}})
    assert response.text == END and other in results_of(response)[0], response
    assert (await chat.removals(), await chat.removals(other)) == (0, 1)


async def other_device():
    chat = await ask()
    other = Chat(earlier=chat)
    assert (await other.decide({"approved": False})).text == END
    # The decision of the first device is too late. It receives the one that counted, and the rest.
    late = await chat.decide({"approved": True})
    assert late.text == END and "denied" in results_of(late)[0], late
    assert await chat.removals() == 0


async def stop():
    chat = Chat()
    options = {"metadata": {"thread_id": chat.thread}}
    written = asyncio.Event()

    async def read():
        async for update in chat.client.get_response([chat.script(["Once upon ", None, "a time."])], options=options, stream=True):
            if update.text:
                written.set()

    reading = asyncio.create_task(read())
    await written.wait()
    reading.cancel()
    await asyncio.wait([reading])
    # The thread goes on later, and without the messages: the server has them.
    old = Chat(earlier=chat)
    response = await old.send(old.script(["Again."]))
    assert response.text == "Again.", response.text


async def main():
    for flow in (text_and_calls, page_tools, page_tool_beside_an_approval, approve_and_deny, edit, other_device, stop):
        await flow()
        print(f"agent-framework-ag-ui: {flow.__name__}: ok")


asyncio.run(main())
