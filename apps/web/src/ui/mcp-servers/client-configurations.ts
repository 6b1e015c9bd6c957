/** Configurations that connect MCP clients to a server, in the formats in use. Pure. */
import { t } from '../kit/language.ts';

interface ClientConfiguration {
  /** The clients, named by the file that they read. */
  title: string;
  hint: string;
  text: string;
}

interface Connection {
  /** The server's name in the client's list: letters, digits and hyphens. */
  name: string;
  url: string;
  key: string;
}

const json = (value: unknown): string => JSON.stringify(value, null, 2);

export function clientConfigurations({ name, url, key }: Connection): ClientConfiguration[] {
  const headers = { Authorization: `Bearer ${key}` };
  const server = { type: 'http', url, headers };
  const bridge = {
    command: 'npx',
    // Without a space: some clients split an argument that contains one.
    args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${AUTHORIZATION}'],
    env: { AUTHORIZATION: headers.Authorization },
  };
  return [
    {
      title: t`mcpServers, as most clients read it`,
      hint: t`In .mcp.json of a project, or the client’s own file of MCP servers`,
      text: json({ mcpServers: { [name]: server } }),
    },
    {
      title: t`servers, as editors read it`,
      hint: t`In .vscode/mcp.json`,
      text: json({ servers: { [name]: server } }),
    },
    {
      title: 'TOML',
      hint: t`In config.toml of the client`,
      text: [
        `[mcp_servers.${name}]`,
        `url = ${JSON.stringify(url)}`,
        `http_headers = { Authorization = ${JSON.stringify(headers.Authorization)} }`,
      ].join('\n'),
    },
    {
      title: t`Clients that only start programs`,
      hint: t`A bridge between standard input and this address, which npx fetches`,
      text: json({ mcpServers: { [name]: bridge } }),
    },
  ];
}
