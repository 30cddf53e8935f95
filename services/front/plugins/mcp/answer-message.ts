import {
  createMcpHandler,
  isLegacyRequest,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { mcpInstructions, type McpToolName, mcpToolList, mcpTools } from '@webcapture/shared/api/mcp-tools.ts';
import { interfaceVersion } from '../../api/meta.ts';
import { callTool, type McpToolsDeps, type ToolCall } from './tools.ts';

/** Answers a message of the latest or an earlier revision of the protocol, with the same tools. */
export async function answerMessage(
  request: Request,
  message: unknown,
  { call, deps }: { readonly call: ToolCall; readonly deps: McpToolsDeps },
): Promise<Response> {
  const makeServer = () => serverOf(call, deps);
  if (!(await isLegacyRequest(request, message))) {
    // The listed tools never change, so clients need no notifications.
    const handler = createMcpHandler(makeServer, { legacy: 'reject', maxSubscriptions: 0 });
    return handler.fetch(request, { parsedBody: message });
  }
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = makeServer();
  await server.connect(transport);
  try {
    return await transport.handleRequest(request, { parsedBody: message });
  } finally {
    await server.close();
  }
}

function serverOf(call: ToolCall, deps: McpToolsDeps): Server {
  const server = new Server(
    { name: 'webcapture', title: 'webcapture', version: interfaceVersion },
    { capabilities: { tools: {} }, instructions: mcpInstructions },
  );
  server.setRequestHandler('tools/list', () => ({ tools: mcpToolList }));
  server.setRequestHandler('tools/call', ({ params }) => {
    const { name, arguments: args = {} } = params;
    if (!isToolName(name)) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool ${JSON.stringify(name.slice(0, 80))}.`);
    }
    return callTool(name, args, call, deps);
  });
  return server;
}

const isToolName = (name: string): name is McpToolName => mcpTools.some((tool) => tool.name === name);
