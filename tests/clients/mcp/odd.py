"""A server of the official SDK without tools, and one whose list has an odd detail, which the SDK passes on."""

import asyncio
import sys

import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def list_tools(_context, _params):
    number = {"type": "integer", "minimum": 0, "exclusiveMinimum": True}
    schema = {"type": "object", "properties": {"n": number, "text": {"type": "str"}}, "required": ["n"]}
    return types.ListToolsResult(tools=[types.Tool(name="find", input_schema=schema)])


async def call_tool(_context, _params):
    return types.CallToolResult(content=[types.TextContent(type="text", text="seen")])


async def serve():
    handlers = {} if "none" in sys.argv else {"on_list_tools": list_tools, "on_call_tool": call_tool}
    server = Server("odd", **handlers)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(serve())
