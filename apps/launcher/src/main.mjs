/** `npm start`. */
import { setFlagsFromString } from 'node:v8';
import { keepCompiled, loadProgram } from '@acp/program';

// What both tiers need of Node.js: its code is compiled already, but V8 takes it only under the flags of the process's start.
for (const name of [
  'assert',
  'child_process',
  'cluster',
  'crypto',
  'dgram',
  'dns/promises',
  'fs/promises',
  'https',
  'perf_hooks',
  'readline',
  'stream/consumers',
  'timers/promises',
  'vm',
  'worker_threads',
  'zlib',
])
  process.getBuiltinModule(`node:${name}`);
// A start runs most of its code once, which is not worth optimising, and V8's optimising compilers alone are 5 MB of Node.js's program
// file. They are back once the service is up (idle-memory.ts).
for (const compiler of ['opt', 'maglev']) setFlagsFromString(`--no-${compiler}`);

const { runService } = await loadProgram('service');
await runService();
// Once the service is up, everything its roles need is loaded.
keepCompiled();
