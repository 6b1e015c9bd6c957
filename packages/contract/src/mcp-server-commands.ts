/** Awaited commands for external MCP servers. A program runs in one scheduler, identified by its lease. */
import { Type } from 'typebox';
import { JsonObject, Uuid } from './schema-kit.ts';

/** Name of the lease of a server's program, used in commands. */
export const mcpProgramLease = ({ server_id }: { server_id: string }) => `mcp:${server_id}`;

const ofServer = Type.Object({ server_id: Uuid });

export const mcpServerCommands = {
  'refresh-mcp-server': {
    payload: ofServer,
    result: Type.Object({}),
    deadline_sec: 30,
    taken_by: 'any',
    doc: 'Lists an external MCP server’s tools again; the outcome is stored in its row.',
  },
  'list-mcp-program': {
    payload: ofServer,
    result: Type.Object({}),
    deadline_sec: 30,
    taken_by: mcpProgramLease,
    doc: 'The same for a server that is a program run by another scheduler.',
  },
  'call-mcp-program': {
    payload: Type.Object({
      server_id: Uuid,
      name: Type.String(),
      input_schema: JsonObject,
      input: Type.Unknown(),
    }),
    result: Type.Object({ answer: Type.Unknown() }),
    deadline_sec: 30,
    taken_by: mcpProgramLease,
    doc: 'Calls a tool of such a program.',
  },
} as const;
