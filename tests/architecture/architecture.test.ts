import { describe, expect, it } from '@jest/globals';
import {
  besideIndexes,
  environmentReaders,
  findsItself,
  gatherers,
  longer,
  maxImports,
  maxLines,
  mayImport,
  medianLines,
  notForKernel,
  onlyIn,
  p90Lines,
  publicExports,
  sliceOrder,
} from './rules.ts';
import { readSources, type Source } from './sources.ts';

const sources = readSources();
const ours = sources.filter(({ path }) => /^(?:packages|apps)\/[^/]+\/src\//.test(path));
const production = ours.filter((source) => !source.is_test);

const packageOf = (path: string) => /^(?:packages|apps)\/([^/]+)\//.exec(path)?.[1] ?? '';
const sliceOf = (path: string) => /^packages\/core\/src\/([^/]+)\//.exec(path)?.[1];
const packageName = (specifier: string) =>
  specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0]!;

/** Its imports from other packages, except those allowed in addition to package indexes. */
const importsOf = ({ path, imports }: Source) =>
  imports.filter((name) => !besideIndexes.some(({ specifier, by }) => specifier === name && by.test(path)));

/** Lists all findings together, each with its remedy. */
function offences(check: (source: Source) => string[], among: readonly Source[] = production): string[] {
  return among.flatMap((source) => check(source).map((finding) => `${source.path}: ${finding}`));
}

describe('imports', () => {
  it('a package imports only the packages that the table allows', () => {
    const found = offences((source) =>
      importsOf(source)
        .filter((specifier) => specifier.startsWith('@acp/'))
        .map((specifier) => specifier.slice('@acp/'.length))
        .filter((name) => !mayImport[packageOf(source.path)]?.includes(name))
        .map(
          (name) =>
            `may not import @acp/${name}: move the code to the layer that owns it, or pass it as a parameter`,
        ),
    );
    expect(found).toEqual([]);
  });

  it('no package imports the internals of another', () => {
    const deep = offences(
      (source) =>
        importsOf(source)
          .filter((specifier) => /^@acp\/[^/]+\//.test(specifier))
          .map((specifier) => `imports ${specifier}: export it from the package's index`),
      sources,
    );
    const crossing = offences(
      (source) =>
        source.imports
          .filter((path) => /^(?:packages|apps)\//.test(path) && packageOf(path) !== packageOf(source.path))
          .map((path) => `reaches into ${path}: import the package by its name`),
      ours,
    );
    expect([...deep, ...crossing]).toEqual([]);
  });

  it('an engine is imported only by the package that wraps it', () => {
    const found = offences((source) =>
      source.imports
        .map(packageName)
        .filter((name) => Object.hasOwn(onlyIn, name) && !onlyIn[name]!.includes(packageOf(source.path)))
        .map((name) => `may not import ${name}: only ${onlyIn[name]!.join(', ')} may`),
    );
    expect(found).toEqual([]);
  });

  it('imports have no cycles, types included', () => {
    const importsByPath = new Map(ours.map(({ path, imports }) => [path, imports]));
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (path: string, trail: readonly string[]) => {
      if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
      if (done.has(path) || trail.includes(path)) return;
      for (const next of importsByPath.get(path) ?? [])
        if (importsByPath.has(next)) visit(next, [...trail, path]);
      done.add(path);
    };
    for (const path of importsByPath.keys()) visit(path, []);
    expect(cycles).toEqual([]);
  });

  it('a slice of core imports only earlier slices, by their index', () => {
    const order: readonly string[] = sliceOrder;
    const found = offences((source) => {
      const slice = sliceOf(source.path);
      if (slice === undefined) return [];
      if (!order.includes(slice)) return [`slice ${slice} is not in the list of slices`];
      return source.imports.flatMap((path) => {
        const other = sliceOf(path);
        if (other === undefined || other === slice) return [];
        if (path !== `packages/core/src/${other}/index.ts`)
          return [`enters slice ${other} by ${path}: use its index.ts`];
        if (order.indexOf(other) < order.indexOf(slice)) return [];
        return [`imports the later slice ${other}: notify it by a job or an event instead`];
      });
    });
    expect(found).toEqual([]);
  });
});

describe('the kernel of execution', () => {
  it('does not know what runs are about', () => {
    const found = offences(({ path, imports }) => {
      if (sliceOf(path) !== notForKernel.slice) return [];
      return notForKernel.slices
        .filter((slice) => imports.includes(`packages/core/src/${slice}/index.ts`))
        .map((slice) => `imports ${slice}: that is for a kind (docs/adding-a-kind.md)`);
    });
    expect(found).toEqual([]);
  });
});

describe('ownership', () => {
  it('one slice writes a table', () => {
    const writers = new Map<string, Set<string>>();
    for (const { path, text } of production) {
      const slice = sliceOf(path);
      if (slice === undefined) continue;
      const drizzled = [...text.matchAll(/\.(?:insert|update|delete)\(\s*(?:schema\.)?([a-z_]+)\s*\)/g)];
      const raw = [
        ...text.matchAll(
          /\b(?:insert into|update|delete from)\s+(?:\$\{)?(?:schema\.)?([a-z]+(?:_[a-z]+)*)\b/g,
        ),
      ];
      for (const [, table] of [...drizzled, ...raw]) {
        if (table === 'set' || table === 'of' || table === 'skip') continue;
        writers.set(table!, (writers.get(table!) ?? new Set()).add(slice));
      }
    }
    const shared = [...writers]
      .filter(([, slices]) => slices.size > 1)
      .map(([table, slices]) => `${table}: ${[...slices].join(', ')}`);
    expect(shared).toEqual([]);
  });

  it('core reads no wall clock', () => {
    const found = offences(({ path, text }) =>
      path.startsWith('packages/core/') && /\bDate\.now\(|\bnew Date\(\)/.test(text)
        ? ['reads the wall clock: use the database’s now(), or take the instant as an argument']
        : [],
    );
    expect(found).toEqual([]);
  });

  it('only parts of the service act as the system', () => {
    const found = offences(({ text }) =>
      /systemActor\((?!')/.test(text)
        ? ['lets something named by data act as the system, which has every right: use outsideActor']
        : [],
    );
    expect(found).toEqual([]);
  });

  it('only the configuration reads the environment', () => {
    const found = offences(({ path, text }) =>
      /\bprocess\.env\b/.test(text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')) &&
      !environmentReaders.includes(path)
        ? ['reads process.env: add the variable to kernel’s config-schema and take it from the Config']
        : [],
    );
    expect(found).toEqual([]);
  });
});

describe('exports', () => {
  it('every export is used by another file', () => {
    // Re-exporting is not using.
    const users = new Map<string, Set<string>>();
    for (const { path, text } of sources) {
      const code = text.replaceAll(/^export (?:type )?\{[^}]*\} from '[^']+';$/gm, '');
      for (const [name] of code.matchAll(/[A-Za-z_]\w*/g))
        users.set(name, (users.get(name) ?? new Set()).add(path));
    }
    const found = offences(
      ({ text }) =>
        [
          ...text.matchAll(
            /^export (?:abstract )?(?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm,
          ),
        ]
          .filter(([, name]) => users.get(name!)!.size < 2)
          .map(([, name]) => `exports ${name} to nobody: drop \`export\`, or the code if nothing uses it`),
      production.filter(({ path }) => !publicExports.includes(packageOf(path))),
    );
    expect(found).toEqual([]);
  });
});

describe('size', () => {
  it('no file exceeds its limit', () => {
    const found = offences(({ path, lines, is_test }) => {
      const limit = longer[path]?.lines ?? (is_test ? maxLines.test : maxLines.source);
      return lines > limit ? [`${lines} lines, ${limit} at most: split it by what it does`] : [];
    }, sources);
    expect(found).toEqual([]);
  });

  it('most files are short', () => {
    const sorted = production.map(({ lines }) => lines).toSorted((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length * 0.5)]).toBeLessThanOrEqual(medianLines);
    expect(sorted[Math.floor(sorted.length * 0.9)]).toBeLessThanOrEqual(p90Lines);
  });

  it('a file has few imports', () => {
    const found = offences(({ path, imports }) =>
      new Set(imports).size > maxImports && !path.endsWith('/index.ts') && !gatherers.includes(path)
        ? [`${new Set(imports).size} imports, ${maxImports} at most: it does too much`]
        : [],
    );
    expect(found).toEqual([]);
  });
});

describe('habits', () => {
  it('no file switches the linter or the type checker off', () => {
    const pattern = new RegExp(
      ['(?:ox|es)lint-', 'disable|@ts-', '(?:ignore|expect-error|nocheck)'].join(''),
    );
    const found = offences(
      ({ text }) => (pattern.test(text) ? ['switches a check off: fix the code'] : []),
      sources,
    );
    expect(found).toEqual([]);
  });

  it('files are found from the root of the checkout, since a bundled module is not where its source is', () => {
    const place = /import\.meta\.(?:dirname|filename)|new URL\([^)]*import\.meta\.url/;
    const found = offences(({ path, text }) =>
      place.test(text) && !findsItself.some((pattern) => pattern.test(path)) ? ['use repositoryRoot'] : [],
    );
    expect(found).toEqual([]);
  });

  it('no test sleeps', () => {
    const sleep = /await\s+(?:delay|sleep|setTimeout)\(/;
    const found = offences(
      ({ path, text }) =>
        path.endsWith('.test.ts') && sleep.test(text) ? ['sleeps: wait with waitFor'] : [],
      sources,
    );
    expect(found).toEqual([]);
  });

  it('no test is skipped or runs alone', () => {
    const found = offences(
      ({ path, text }) =>
        path.endsWith('.test.ts') &&
        /\b(?:it|test|describe)\.(?:only|skip|todo)\(|\bx(?:it|describe)\(/.test(text)
          ? ['has a test that does not run']
          : [],
      sources,
    );
    expect(found).toEqual([]);
  });
});
