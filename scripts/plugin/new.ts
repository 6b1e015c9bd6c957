import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { build, sdkEntry } from './build.ts';

const template = join(import.meta.dirname, 'template');
const root = resolve(import.meta.dirname, '../..');
const NAME = /^[a-z][a-z0-9-]{0,40}$/;

/** Creates a working plugin in a folder of its own. Throws if the folder is not empty. */
export async function create(target: string): Promise<string> {
  const folder = resolve(target);
  const name = basename(folder);
  if (!NAME.test(name)) throw new Error(`${name}: small letters, digits and hyphens, a letter first`);
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`);
  await cp(template, folder, { recursive: true });
  const source = join(folder, 'plugin.ts');
  const text = await readFile(source, 'utf8');
  await writeFile(
    source,
    text.replaceAll('my-plugin', name).replaceAll('my_plugin', name.replaceAll('-', '_')),
  );
  await writeFile(join(folder, 'package.json'), json({ name, private: true, type: 'module' }));
  await writeFile(join(folder, 'tsconfig.json'), json(await editorSettings(folder)));
  await writeFile(join(folder, '.gitignore'), 'dist/\n');
  return build(folder);
}

/** Points editors and `tsc` to the SDK, since a plugin needs no installed packages. */
async function editorSettings(folder: string): Promise<object> {
  const here = await realpath(folder);
  const path = (target: string): string => `./${relative(here, target)}`;
  return {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024'],
      module: 'nodenext',
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      types: ['node'],
      typeRoots: [path(join(root, 'node_modules/@types'))],
      paths: { '@acp/plugin-sdk': [path(sdkEntry)] },
    },
    include: ['*.ts'],
  };
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
