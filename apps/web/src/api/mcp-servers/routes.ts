import { mcpServerEndpoints as rows } from '@acp/contract';
import {
  createMcpServer,
  deleteMcpServer,
  findMcpServer,
  listedMcpTools,
  listMcpCalls,
  listMcpServers,
  offeredMcpCommands,
  presentMcpServer,
  updateMcpServer,
} from '@acp/core';
import { conflict, notFound, said } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';

export const mcpServerRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listMcpServers(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) => createMcpServer(c.tx, c.actor, c.company_id, c.body, c.services.mcp_servers)),
  handle(rows.listCommands, ({ services }) => offeredMcpCommands(services.mcp_servers.commands)),
  handle(rows.get, (c) => presentMcpServer(c.subject)),
  handle(rows.update, (c) => updateMcpServer(c.tx, c.actor, c.subject, c.body, c.services.mcp_servers)),
  handle(rows.delete, (c) => deleteMcpServer(c.tx, c.actor, c.subject)),
  handle(rows.refresh, async ({ tx, actor, company_id, subject, services }) => {
    if (!subject.enabled) throw conflict('the server is switched off');
    await services.command('refresh-mcp-server', { server_id: subject.id }, { actor, company_id });
    const row = await findMcpServer(tx, subject.id);
    if (row === undefined) throw notFound();
    return presentMcpServer(row);
  }),
  handle(rows.listTools, (c) => listedMcpTools(c.tx, c.subject)),
  handle(rows.callTool, async ({ tx, actor, company_id, subject, body, services }) => {
    if (!subject.enabled) throw conflict('the server is switched off');
    const tools = await listedMcpTools(tx, subject);
    const tool = tools.find(({ name, allowed }) => allowed && name === body.tool);
    if (tool === undefined) throw notFound(said`the server has no tool ${body.tool} that is allowed`);
    return services.command(
      'call-tool',
      { name: tool.called, input: body.input ?? {} },
      { actor, company_id },
    );
  }),
  handle(rows.listCalls, async (c) => paged(c, await listMcpCalls(c.tx, c.subject, c.query))),
];
