// Converts schemas to grammars with llama.cpp's own code, as its server does for a call of a tool. Reads a schema from each line of
// stdin, and writes {"grammar"} or {"error"} for each to the file that the first argument names. Run it beside `node_modules`.
//
// The converter is reached through a chat with tools. That needs a model file, but no weights: a vocabulary of bytes and a chat
// template are enough.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { createRequire } from 'node:module'

const { loadModel } = createRequire(path.join(process.cwd(), 'x.js'))('@fugood/llama.node')

/** Writes the metadata of a GGUF file. */
class Gguf {
  parts = []
  number(method, size, value) {
    const buffer = Buffer.alloc(size)
    buffer[method](value)
    this.parts.push(buffer)
    return this
  }
  u32(value) { return this.number('writeUInt32LE', 4, value) }
  u64(value) { return this.number('writeBigUInt64LE', 8, BigInt(value)) }
  f32(value) { return this.number('writeFloatLE', 4, value) }
  text(value) {
    const bytes = Buffer.from(value)
    this.u64(bytes.length).parts.push(bytes)
    return this
  }
  list(type, values, write) {
    this.u32(9).u32(type).u64(values.length)
    for (const value of values) write(value)
    return this
  }
}

const U32 = 4, F32 = 6, TEXT = 8
const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
const tokens = ['<unk>', '<s>', '</s>', ...bytes]
const kind = (token) => (token === '<unk>' ? 2 : bytes.includes(token) ? 6 : 3)
const template = `{% if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}{% endfor %}
Answer with <tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call><|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content %}{{ message.content }}{% endif %}{% for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`
const file = new Gguf()
const sizes = { block_count: 1, context_length: 64, embedding_length: 8, feed_forward_length: 8, 'attention.head_count': 1 }
const fields = [
  ['general.architecture', () => file.u32(TEXT).text('llama')],
  ...Object.entries(sizes).map(([name, value]) => [`llama.${name}`, () => file.u32(U32).u32(value)]),
  ['llama.attention.layer_norm_rms_epsilon', () => file.u32(F32).f32(1e-5)],
  ['tokenizer.ggml.model', () => file.u32(TEXT).text('llama')],
  ['tokenizer.ggml.tokens', () => file.list(TEXT, tokens, (token) => file.text(token))],
  ['tokenizer.ggml.scores', () => file.list(F32, tokens, () => file.f32(0))],
  ['tokenizer.ggml.token_type', () => file.list(U32, tokens, (token) => file.u32(kind(token)))],
  ['tokenizer.chat_template', () => file.u32(TEXT).text(template)],
]
file.parts.push(Buffer.from('GGUF'))
file.u32(3).u64(0).u64(fields.length)
for (const [name, write] of fields) {
  file.text(name)
  write()
}
const model = path.join(os.tmpdir(), `vocabulary-${process.pid}.gguf`)
fs.writeFileSync(model, Buffer.concat(file.parts))
const context = await loadModel({ model, n_ctx: 64, n_threads: 1, vocab_only: true })
fs.unlinkSync(model)

/** Reads JSON, and keeps integers beyond 2^53 as they are written. */
const parse = (text) =>
  JSON.parse(text, (_, value, { source } = {}) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source) ? JSON.rawJSON(source) : value,
  )

const out = fs.createWriteStream(process.argv[2])
for await (const line of readline.createInterface({ input: process.stdin })) {
  let answer
  try {
    const tools = [{ type: 'function', function: { name: 'f', description: 'A tool.', parameters: parse(line) } }]
    const options = { jinja: true, tools, tool_choice: 'required', parallel_tool_calls: false }
    const chat = await context.getFormattedChat([{ role: 'user', content: 'hi' }], undefined, options)
    answer = { grammar: chat.grammar }
  } catch (error) {
    answer = { error: String(error.message) }
  }
  out.write(JSON.stringify(answer) + '\n')
}
out.end(() => process.exit(0))
