"""The decoders that follow a grammar, behind one interface: `compile(schemas)` returns a matcher or an error for each."""

import ctypes
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import llguidance
import xgrammar
from outlines_core.json_schema import build_regex_from_schema
from xgrammar.testing import _is_grammar_accept_string

HERE = Path(__file__).resolve().parent
PACKAGES = Path(os.environ["GRAMMARS_NPM"])


def dumps(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class LlamaGrammar:
    """A grammar in llama.cpp's own reader and matcher, whose functions the package's library exports."""

    library = None

    def __init__(self, grammar):
        functions = self.load()
        self.init, self.accept, self.stacks, self.clone, self.free = functions
        # The reader prints its errors to stderr and returns null.
        self.grammar = self.init(None, grammar.encode(), b"tool-f-schema", False, None, 0, None, 0)
        if not self.grammar:
            raise ValueError("failed to parse the grammar")

    @classmethod
    def load(cls):
        if cls.library is None:
            path = str(PACKAGES / "node_modules/@fugood/node-llama-linux-x64/index.node")
            # The library has symbols of Node, which are resolved only when they are called.
            dlopen = ctypes.CDLL(None).dlopen
            dlopen.restype, dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
            handle = dlopen(path.encode(), os.RTLD_LAZY)
            library = ctypes.CDLL(path, handle=handle)
            pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
            init = library._Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim
            init.restype, init.argtypes = pointer, [pointer, text, text, ctypes.c_bool, pointer, size, pointer, size]
            accept = library._Z20llama_grammar_acceptP13llama_grammarj
            accept.restype, accept.argtypes = None, [pointer, ctypes.c_uint32]
            stacks = library._Z24llama_grammar_get_stacksP13llama_grammar
            stacks.restype, stacks.argtypes = pointer, [pointer]
            clone = library._Z24llama_grammar_clone_implRK13llama_grammar
            clone.restype, clone.argtypes = pointer, [pointer]
            free = library._Z23llama_grammar_free_implP13llama_grammar
            free.restype, free.argtypes = None, [pointer]
            cls.library = init, accept, stacks, clone, free
        return cls.library

    def open_stacks(self, grammar):
        """The stacks of a grammar: a vector of vectors, each as the addresses of its start and end."""
        start, end = (ctypes.c_void_p * 2).from_address(self.stacks(grammar))
        return [tuple((ctypes.c_void_p * 2).from_address(at)) for at in range(start or 0, end or 0, 24)]

    def accepts(self, text):
        grammar = self.clone(self.grammar)
        try:
            for character in text:
                self.accept(grammar, ord(character))
                if not self.open_stacks(grammar):
                    return False
            # The text is complete if one stack is empty.
            return any(start == end for start, end in self.open_stacks(grammar))
        finally:
            self.free(grammar)


class Guidance:
    tokens = llguidance.LLTokenizer("byte")

    def __init__(self, schema):
        self.grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        matcher = llguidance.LLMatcher(self.tokens, self.grammar)
        if matcher.is_error():
            raise ValueError(matcher.get_error())

    def accepts(self, text):
        matcher = llguidance.LLMatcher(self.tokens, self.grammar)
        ids = self.tokens.tokenize_str(text)
        if matcher.validate_tokens(ids) < len(ids):
            return False
        matcher.consume_tokens(ids)
        return matcher.is_accepting()


class XGrammar:
    def __init__(self, schema):
        self.grammar = xgrammar.Grammar.from_json_schema(schema)

    def accepts(self, text):
        return _is_grammar_accept_string(self.grammar, text)


class Outlines:
    def __init__(self, schema):
        self.expression = re.compile(build_regex_from_schema(schema))

    def accepts(self, text):
        return self.expression.fullmatch(text) is not None


def attempt(make, argument):
    """Returns a matcher or the error, without what native code prints to stderr."""
    stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        return make(argument)
    except Exception as error:  # Each engine has errors of its own.
        return error
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)


def llama_grammars(schemas):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "grammars"
        command = ["node", "--harmony-json-parse-with-source", str(HERE / "llama.mjs"), str(out)]
        lines = "".join(dumps(schema) + "\n" for schema in schemas)
        subprocess.run(command, input=lines, text=True, cwd=PACKAGES, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [json.loads(line) for line in out.read_text().splitlines()]


def compile(schemas):
    """Returns {engine: matcher or error} for each schema."""
    grammars = llama_grammars(schemas)
    assert len(grammars) == len(schemas)
    compiled = []
    for schema, answer in zip(schemas, grammars):
        text = dumps(schema)
        is_converted = "grammar" in answer
        compiled.append({
            "llama.cpp": attempt(LlamaGrammar, answer["grammar"]) if is_converted else ValueError(answer["error"]),
            "llguidance": attempt(Guidance, text),
            "xgrammar": attempt(XGrammar, text),
            "outlines-core": attempt(Outlines, text),
        })
    return compiled
