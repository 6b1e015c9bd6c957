// ProxyCommand for ssh: `node connect-through.ts <port of the proxy> <host> <port>`. Requests a tunnel from the proxy and
// relays data in both directions.
import { connect } from 'node:net';

const [, , proxy_port = '0', host = '', port = '22'] = process.argv;
const target = `${host.includes(':') ? `[${host}]` : host}:${port}`;
const socket = connect(Number(proxy_port), '127.0.0.1');
socket.on('error', () => process.exit(1));
socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);

let said = Buffer.alloc(0);
const onData = (chunk: Buffer) => {
  said = Buffer.concat([said, chunk]);
  const end = said.indexOf('\r\n\r\n');
  if (end === -1) return;
  socket.off('data', onData);
  if (!said.toString('latin1').startsWith('HTTP/1.1 200 ')) {
    process.stderr.write('the repository’s host may not be reached\n');
    process.exit(1);
  }
  process.stdout.write(said.subarray(end + 4));
  socket.pipe(process.stdout);
  process.stdin.pipe(socket);
};
socket.on('data', onData);
socket.on('close', () => process.exit(0));
