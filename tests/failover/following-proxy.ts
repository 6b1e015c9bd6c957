/**
 * A TCP proxy that follows the primary, like HAProxy with a health check: it asks each node whether it accepts writes, routes
 * new connections to the one that does, and cuts those to a node that no longer does.
 */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { askNode, type Node } from './cluster.ts';

const CHECK_EVERY_MS = 300;

export interface FollowingProxy {
  port: number;
  url: string;
  /** Number of currently open connections. */
  open(): number;
  close(): Promise<void>;
}

export async function startProxy(nodes: readonly Node[]): Promise<FollowingProxy> {
  const pairs = new Set<{ node: Node; client: Socket; upstream: Socket }>();
  let target: Node | undefined;

  async function check(): Promise<void> {
    const writable = await Promise.all(
      nodes.map(async ({ url }) =>
        askNode<{ standby: boolean }>(url, 'select pg_is_in_recovery() as standby')
          .then(([row]) => row?.standby === false)
          .catch(() => false),
      ),
    );
    target = nodes[writable.indexOf(true)];
    for (const { node, client, upstream } of pairs) {
      if (node === target) continue;
      client.destroy();
      upstream.destroy();
    }
  }

  const server = createServer((client) => {
    const node = target;
    if (node === undefined) return void client.destroy();
    const upstream = connect(node.port, '127.0.0.1');
    const pair = { node, client, upstream };
    pairs.add(pair);
    for (const [from, into] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      from
        .on('error', () => into.destroy())
        .on('close', () => {
          into.destroy();
          pairs.delete(pair);
        })
        .pipe(into);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await check();
  let checking: Promise<void> | undefined;
  const timer = setInterval(() => {
    checking ??= check().finally(() => (checking = undefined));
  }, CHECK_EVERY_MS);
  const url = new URL(nodes[0]!.url);
  url.port = String(port);
  return {
    port,
    url: url.href,
    open: () => pairs.size,
    async close() {
      clearInterval(timer);
      await checking;
      for (const { client, upstream } of pairs) {
        client.destroy();
        upstream.destroy();
      }
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
