"""A server whose tools ask, with any of `mcp` 1, `mcp` 2 and `fastmcp`: python asks.py MODULE"""

import importlib
import sys
import typing

from pydantic import BaseModel, Field

name = {"mcp1": "mcp.server.fastmcp", "mcp2": "mcp.server.mcpserver", "fastmcp": "fastmcp"}[sys.argv[1]]
module = importlib.import_module(name)
Context = module.Context
server = (module.MCPServer if sys.argv[1] == "mcp2" else module.FastMCP)("asks")


class Seat(BaseModel):
    seat: str = Field(min_length=2, pattern="^[a-z]+$")
    # `fastmcp` refuses to ask for an optional member.
    row: int if sys.argv[1] == "fastmcp" else typing.Optional[int] = Field(
        default=1 if sys.argv[1] == "fastmcp" else None, gt=0
    )


@server.tool()
async def seat(city: str, ctx: Context) -> str:
    answer = await ctx.elicit(f"Which seat to {city}?", Seat)
    return f"{city}: {answer.action} {answer.data.seat if answer.action == 'accept' else ''}"


@server.tool()
def lists() -> list[typing.Any]:
    return [1, None, [2, [3]], "x", {"a": 1}]


@server.tool()
def power(of: int) -> dict[str, int]:
    return {"power": 10**of + 1}


server.run()
