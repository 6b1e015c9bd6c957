// An MCP server from the official library, of the kind that operators offer to companies: a program that speaks over its
// standard input and output, and prints a greeting there first, as many do.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';

/** Set by the sandbox or by the shell that starts a program without one. */
const ofShells = new Set(['PWD', 'SHLVL', '_']);

process.stdout.write('Memory server, version 1.0\n');
if (process.env.MODE === 'broken') {
  process.stderr.write(`could not start: bad token ${process.env.TOKEN}`);
  process.exit(3);
}

// Identifies this process: pids belong to the sandbox's namespace.
const instance = randomUUID();
const text = (said) => ({ content: [{ type: 'text', text: said }] });
const reach = (host, port) =>
  new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    socket.on('connect', () => resolve('reached')).on('error', ({ code }) => resolve(code));
  });

const tools = {
  remember: async ({ fact }) => {
    appendFileSync('facts.txt', `${fact}\n`);
    return text(readFileSync('facts.txt', 'utf8'));
  },
  around: async ({ path, port }) =>
    text(
      JSON.stringify({
        instance,
        arguments: process.argv.slice(2),
        variables: Object.keys(process.env)
          .filter((name) => !ofShells.has(name))
          .toSorted(),
        token: process.env.TOKEN,
        sees: existsSync(path),
        network: await reach('127.0.0.1', port),
      }),
    ),
  crash: async () => process.exit(7),
  // Blocks all other responses as well.
  hang: () => {
    for (;;);
  },
};

const server = new Server({ name: 'memory', version: '1.0.0' }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: Object.keys(tools).map((name) => ({
    name,
    ...(name !== 'hang' && { description: `Does ${name}.` }),
    inputSchema: { type: 'object' },
  })),
}));
server.setRequestHandler(CallToolRequestSchema, ({ params }) => tools[params.name](params.arguments ?? {}));
await server.connect(new StdioServerTransport());
