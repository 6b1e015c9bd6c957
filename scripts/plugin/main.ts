/** `npm run plugin`: tools for plugin authors (docs/plugins.md). */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build } from './build.ts';
import { checkPlugin } from './check/check.ts';
import { create } from './new.ts';

const USAGE = `npm run plugin -- new <folder>      makes a plugin that runs
npm run plugin -- build <folder>    makes one executable file of a plugin in TypeScript
npm run plugin -- test <binary>     drives a plugin in any language through the protocol, and says what it does wrong
    --config <file.json>            its configuration
    --grant <names>                 further host services, with commas: kv,issues.read,issues.comment,metrics
    --secret <NAME=value>           a secret that is granted; may be repeated
    --input <tool=file.json>        the input of a tool, where none can be made from its schema; may be repeated
    --network                       http_fetch really fetches; without it every fetch is refused`;

/** npm changes to the root of the repository, but paths are relative to the author's working directory. */
const from = (path: string): string => resolve(process.env.INIT_CWD ?? process.cwd(), path);

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      config: { type: 'string' },
      grant: { type: 'string' },
      secret: { type: 'string', multiple: true, default: [] },
      input: { type: 'string', multiple: true, default: [] },
      network: { type: 'boolean', default: false },
    },
  });
  const [command, target, ...more] = positionals;
  if (target === undefined || more.length > 0) throw new Error(USAGE);
  if (command === 'new') {
    const binary = await create(from(target));
    console.log(`${from(target)} is made, and built: ${binary}\nNext: npm run plugin -- test ${binary}`);
    return 0;
  }
  if (command === 'build') {
    console.log(await build(from(target)));
    return 0;
  }
  if (command !== 'test') throw new Error(USAGE);
  const inputs = await Promise.all(
    pairs(values.input).map(async ([tool, file]) => [tool, await readJson(file)] as const),
  );
  return checkPlugin(from(target), {
    config: values.config === undefined ? null : ((await readJson(values.config)) as Record<string, unknown>),
    grants: (values.grant ?? '').split(',').filter((name) => name !== ''),
    secrets: Object.fromEntries(pairs(values.secret)),
    inputs: Object.fromEntries(inputs),
    network: values.network,
    say: (line) => {
      console.log(line);
    },
  });
}

const pairs = (texts: readonly string[]): [string, string][] =>
  texts.map((text) => {
    const at = text.indexOf('=');
    if (at < 1) throw new Error(`${text}: NAME=value is wanted`);
    return [text.slice(0, at), text.slice(at + 1)];
  });

async function readJson(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(from(file), 'utf8')) as unknown;
  } catch (error) {
    throw new Error(`${file} is not readable JSON`, { cause: error });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
