import { describe, expect, it } from '@jest/globals';
import { type Static, Type } from 'typebox';
import { Errors } from 'typebox/value';
import { filesBelow, readText, readYaml } from './files.ts';

const strict = { additionalProperties: false };
const Step = Type.Union([
  Type.Object(
    {
      uses: Type.String({ pattern: '^actions/[a-z-]+@v[0-9]+$' }),
      with: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
    },
    strict,
  ),
  Type.Object({ run: Type.String({ minLength: 1 }) }, strict),
]);
/** The workflow format, as far as ours use it; none may do more than read. */
const Workflow = Type.Object(
  {
    name: Type.String(),
    on: Type.Object(
      {
        push: Type.Optional(Type.Object({ branches: Type.Array(Type.String()) }, strict)),
        pull_request: Type.Optional(Type.Null()),
      },
      strict,
    ),
    permissions: Type.Object({ contents: Type.Literal('read') }, strict),
    concurrency: Type.Object({ group: Type.String(), 'cancel-in-progress': Type.Boolean() }, strict),
    jobs: Type.Record(
      Type.String({ pattern: '^[a-z]+$' }),
      Type.Object(
        {
          'runs-on': Type.Literal('ubuntu-latest'),
          'timeout-minutes': Type.Integer({ minimum: 1, maximum: 60 }),
          steps: Type.Array(Step, { minItems: 1 }),
        },
        strict,
      ),
    ),
  },
  strict,
);

const workflows = filesBelow('.github/workflows').map(
  (file) => [file, readYaml(file) as Static<typeof Workflow>] as const,
);
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> };
const commands = workflows.flatMap(([, { jobs }]) =>
  Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => ('run' in step ? step.run : []))),
);

describe('the workflows', () => {
  it.each(workflows)('%s has the shape of one', (_file, workflow) => {
    expect([...Errors(Workflow, workflow)]).toEqual([]);
  });

  it('run commands that a developer has', () => {
    const npm = commands.flatMap((command) => /^npm (?:run )?([a-z:]+)/.exec(command)?.[1] ?? []);
    expect(npm.filter((name) => name !== 'ci' && !Object.hasOwn(scripts, name))).toEqual([]);
    expect(npm).toEqual(
      expect.arrayContaining(['test', 'lint', 'typecheck', 'format:check', 'bench', 'test:image']),
    );
    expect(commands).toContain('npm run bench -- --smoke');
  });
});
