// A server of the official TypeScript SDK 2 whose tool asks by the older way. It offers the revision 2026-07-28, too.
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const requestedSchema = { type: "object", properties: { seat: { type: "string", minLength: 2 } }, required: ["seat"] };
serveStdio(() => {
  const server = new McpServer({ name: "asks", version: "1" });
  server.registerTool("seat", { inputSchema: z.object({ city: z.string() }) }, async ({ city }, context) => {
    const { action, content } = await context.mcpReq.elicitInput({ message: `Which seat to ${city}?`, requestedSchema });
    return { content: [{ type: "text", text: `${city}: ${action} ${content?.seat}` }] };
  });
  return server;
});
