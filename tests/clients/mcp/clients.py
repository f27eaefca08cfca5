"""The official Python client calls every kind of tool of the fixture server, in the revision that it speaks by default.

python clients.py COMMAND URL
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters, types


class Person:
    answer = {"decision": "approve"}

    async def __call__(self, context, params):
        return types.ElicitResult(action="accept", content=dict(self.answer))


async def check(name, server, mode):
    person, progress = Person(), []

    async def report(done, total, message):
        progress.append(done)

    async with Client(server, mode=mode, elicitation_callback=person) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert tools["add"].title == "Add"
        result = await session.call_tool("add", {"a": 2, "b": 3})
        assert result.structured_content == {"sum": 5}, result
        assert (await session.call_tool("add_up", {"numbers": [1, 2]})).content[0].text == "3"
        assert (await session.call_tool("test_image_content", {})).content[0].mime_type == "image/png"
        assert (await session.call_tool("test_error_handling", {})).is_error
        refused = await session.call_tool("book_seats", {"row": 1, "seats": 3})
        # If the revision has output schemas, feedback does not fit the schema and is in the metadata.
        feedback = refused.structured_content or refused.meta["tool-runtime/feedback"]
        assert feedback["validationResults"]["seats"]["allowedValues"] == [2], refused
        assert (await session.call_tool("delete_record", {"number": 7})).content[0].text == "record 7 is gone"
        person.answer = {"decision": "deny"}
        assert "did not run" in (await session.call_tool("delete_record", {"number": 7})).content[0].text
        person.answer = {"agreed": True}
        asked = await session.call_tool("ConfirmAction", {"action": "it"})
        assert asked.structured_content == {"agreed": True}, asked
        person.answer = {"username": "Ada", "email": "ada@example.com"}
        assert "Ada" in (await session.call_tool("test_elicitation", {"message": "Who?"})).content[0].text
        assert (await session.call_tool("test_audio_content", {})).content[0].mime_type == "audio/wav"
        resource = (await session.call_tool("test_embedded_resource", {})).content[0].resource
        assert str(resource.uri) == "test://embedded-resource", resource
        assert "Computed" in (await session.call_tool("slow_compute", {"seconds": 1})).content[0].text
        await session.call_tool("test_tool_with_progress", {}, progress_callback=report)
        assert progress == [0, 50, 100], progress
    print(f"python {name} {mode}: ok")


async def main():
    command, url = sys.argv[1:]
    for mode in ("auto", "legacy"):
        await check("stdio", StdioServerParameters(command=command, args=["serve"]), mode)
        await check("http", url, mode)


asyncio.run(main())
