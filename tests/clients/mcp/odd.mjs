// A server of the official SDK whose list has odd details, which the SDK passes on.
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const server = new Server({ name: 'odd', version: '1' }, { capabilities: { tools: {} } })
const properties = { n: { type: 'integer', minimum: 0, exclusiveMinimum: true }, text: { type: 'str' } }
const tools = [{ name: 'bad' }, { name: 'find', inputSchema: { type: 'object', properties, required: ['n'] } }]
// The same page again and again.
server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools, nextCursor: 'again' }))
server.setRequestHandler(CallToolRequestSchema, async () => ({ content: [{ type: 'text', text: 'seen' }] }))
await server.connect(new StdioServerTransport())
