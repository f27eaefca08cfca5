"""Prints what a model of PydanticAI receives for each wrong call on standard input."""

import json
import sys

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from tools import RAN, TOOLS


def answer(case):
    """Returns the text that the model receives for the call of the case."""
    received = []

    def model(messages, info):
        if len(messages) == 1:
            return ModelResponse(parts=[ToolCallPart(case["tool"], json.dumps(case["sent"]))])
        part = messages[-1].parts[0]
        received.append(part.model_response() if isinstance(part, RetryPromptPart) else part.model_response_str())
        return ModelResponse(parts=[TextPart("done")])

    Agent(FunctionModel(model), tools=TOOLS).run_sync("Do it.")
    return received[0]


for line in sys.stdin:
    case = json.loads(line)
    RAN.clear()
    text = answer(case)
    print(json.dumps({"case": case["id"], "ran": RAN[-1] if RAN else None, "answer": text}))
