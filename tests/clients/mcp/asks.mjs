// A server of the official TypeScript SDK whose tool asks.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "asks", version: "1" });
const requestedSchema = { type: "object", properties: { seat: { type: "string", minLength: 2 } }, required: ["seat"] };
server.registerTool("seat", { inputSchema: { city: z.string() } }, async ({ city }) => {
  const { action, content } = await server.server.elicitInput({ message: `Which seat to ${city}?`, requestedSchema });
  return { content: [{ type: "text", text: `${city}: ${action} ${content?.seat}` }] };
});
server.registerTool("full", {}, async () => ({ isError: true, content: [], structuredContent: { why: "no seat is left" } }));
await server.connect(new StdioServerTransport());
