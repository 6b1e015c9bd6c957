/**
 * Node.js's HTTP. An import statement for it would read every export, of which some (`WebSocket`) load Node.js's own undici and
 * HTTP/2: 9 MB of memory in a process that uses neither. Types may still be imported from `node:http`.
 */
export const { createServer: createHttpServer, request: requestHttp } = process.getBuiltinModule('node:http');
