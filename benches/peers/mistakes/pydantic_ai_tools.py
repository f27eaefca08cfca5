"""Shows how PydanticAI handles a model's mistakes: `python pydantic_ai_tools.py CASES`, where CASES is a list of arguments as JSON."""

import json
import sys
from typing import Annotated

from pydantic import Field
from pydantic_ai import Agent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


def answer(arguments):
    """Returns what the model receives for a call with these arguments."""
    received = []

    def model(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart("search", json.dumps(arguments))])
        received.extend(part.content for part in messages[-1].parts)
        return ModelResponse(parts=[TextPart("done")])

    agent = Agent(FunctionModel(model))

    @agent.tool_plain
    def search(query: str, limit: Annotated[int, Field(ge=1, le=50)]) -> str:
        """Search the shop."""
        return f"ran with {query}, {limit}"

    agent.run_sync("Search.")
    return received


for case in json.loads(sys.argv[1]):
    print(json.dumps(case), "->", answer(case))

agent = Agent(FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("done")])))
agent.tool_plain(name="search")(lambda query: query)
try:
    agent.tool_plain(name="search")(lambda other: other)
    print("two tools of one name -> accepted")
except UserError as error:
    print("two tools of one name -> UserError when it is declared:", error)
