// The official TypeScript client calls every kind of tool of the fixture server, over stdio and HTTP.
// node clients.mjs COMMAND URL
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, url] = process.argv.slice(2);

async function check(name, transport) {
  const client = new Client({ name: "official", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  let answer = { decision: "approve" };
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: answer }));
  await client.connect(transport);
  const { tools } = await client.listTools();
  const add = tools.find((tool) => tool.name === "add");
  assert.equal(add.title, "Add");
  assert.equal(add.annotations.readOnlyHint, true);
  assert.equal(add.outputSchema.type, "object");
  const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, undefined, options);

  assert.deepEqual((await call("add", { a: 2, b: 3 })).structuredContent, { sum: 5 });
  assert.equal((await call("add_up", { numbers: [1, 2] })).content[0].text, "3");
  assert.equal((await call("test_image_content")).content[0].mimeType, "image/png");
  assert.equal((await call("test_error_handling")).isError, true);
  const refused = await call("book_seats", { row: 1, seats: 3 });
  assert.deepEqual(refused.structuredContent.validationResults.seats.allowedValues, [2]);
  assert.equal((await call("delete_record", { number: 7 })).content[0].text, "record 7 is gone");
  answer = { decision: "deny", reason: "no" };
  assert.match((await call("delete_record", { number: 7 })).content[0].text, /did not run: no/);
  answer = { agreed: true };
  assert.deepEqual((await call("ConfirmAction", { action: "it" })).structuredContent, { agreed: true });
  answer = { username: "Ada", email: "ada@example.com" };
  assert.match((await call("test_elicitation", { message: "Who?" })).content[0].text, /Ada/);
  assert.equal((await call("test_audio_content")).content[0].mimeType, "audio/wav");
  assert.equal((await call("test_embedded_resource")).content[0].resource.uri, "test://embedded-resource");
  const logged = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { logged.push(params.data); });
  await client.setLoggingLevel("info");
  await call("test_tool_with_logging");
  assert.deepEqual(logged, ["Tool execution started", "Tool processing data", "Tool execution completed"]);
  // The server closes the connection, and the client connects again.
  assert.match((await call("test_reconnection")).content[0].text, /completed/);
  assert.match((await call("slow_compute", { seconds: 1 })).content[0].text, /Computed/);
  const seen = [];
  await call("test_tool_with_progress", {}, { onprogress: (progress) => seen.push(progress.progress) });
  assert.deepEqual(seen, [0, 50, 100]);
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 200);
  await assert.rejects(call("slow_compute", { seconds: 50 }, { signal: controller.signal }));
  await assert.rejects(call("nothing"), /-32602/);
  await client.close();
  console.log(`typescript ${name}: ok`);
}

await check("stdio", new StdioClientTransport({ command, args: ["serve"] }));
await check("http", new StreamableHTTPClientTransport(new URL(url)));
