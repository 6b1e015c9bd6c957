import { describe, expect, it } from '@jest/globals';
import { type Actor, adapterTypes } from '@acp/contract';
import { newId } from '@acp/kernel';
import { actors } from '@acp/testkit';
import { type AdapterRules, assertAdapter, namesOutside } from './adapter-rules.ts';

const company = { id: newId() };
const [admin, member] = [actors.board(company, 'admin'), actors.board(company, 'member')];
const open: AdapterRules = { docker_images: [], cli_sandbox_image: 'cli:1', lambda_functions: [] };
const listed: AdapterRules = { ...open, docker_images: ['agent:1'], lambda_functions: ['work'] };

const writing =
  (actor: Actor, config: object, rules?: AdapterRules, before: object = {}, adapter_type = 'docker') =>
  () =>
    assertAdapter(actor, company.id, { ...before }, { adapter_type, adapter_config: { ...config } }, rules);

describe('who writes an adapter_config', () => {
  it('may name what stands in the operator’s lists, and nothing else, admins too', () => {
    expect(writing(member, { image: 'agent:1' }, listed)).not.toThrow();
    expect(writing(admin, { image: 'other:1' }, listed)).toThrow('adapter_config.image is not allowed');
    expect(writing(admin, { function_name: 'x' }, listed, {}, 'lambda')).toThrow(
      'function_name is not allowed',
    );
  });

  it('may name anything as an admin where there is no list, and nothing as another', () => {
    expect(writing(admin, { image: 'other:1' }, open)).not.toThrow();
    expect(writing(member, { image: 'other:1' }, open)).toThrow('adapter_config.image is for admins');
    expect(writing(member, { image: 'other:1' })).toThrow('for admins');
    expect(writing(member, { image: 'cli:1' }, open, {}, 'cli_a_sandbox')).not.toThrow();
  });

  it('may leave what an admin has named, also under an adapter that does not use it', () => {
    const config = { image: 'other:1', command: ['work'] };
    expect(writing(member, config, open, { image: 'other:1' })).not.toThrow();
    expect(writing(member, config, open, {}, 'llm')).toThrow('for admins');
  });

  it('may be incomplete: a run says what is missing', () => {
    for (const type of adapterTypes) expect(writing(member, {}, open, {}, type)).not.toThrow();
    expect(writing(admin, { region: 'eu-central-1' }, open, {}, 'lambda')).not.toThrow();
  });

  it.each([
    ['docker', { image: '--privileged' }],
    ['docker', { image: 'agent:1', env: { SERVICE_API_KEY: 'x' } }],
    ['docker', { image: 'agent:1', env: { A: 'one\nB=two' } }],
    ['docker', { image: 'agent:1', command: 'rm -rf' }],
    ['lambda', { function_name: '../other' }],
    ['lambda', { function_name: 'work', region: 'evil.example/' }],
    ['cli_a_local', { timeout_seconds: 0 }],
    ['cli_a_local', { model: 'a\nb' }],
    ['remote', { tags: 'gpu' }],
  ])('is refused by the schema of %s for %j', (adapter_type, config) => {
    expect(writing(admin, config, open, {}, adapter_type)).toThrow(/adapter_config/);
  });

  it('may write anything for an adapter that nobody knows: it runs as llm', () => {
    expect(writing(member, { whatever: [1] }, open, {}, 'quantum')).not.toThrow();
  });
});

describe('a configuration at its use', () => {
  it('names what has left the list since', () => {
    expect(namesOutside({ image: 'agent:1' }, listed)).toBeUndefined();
    expect(namesOutside({ image: 'agent:0' }, listed)).toBe('image');
    expect(namesOutside({ image: 'agent:0' }, open)).toBeUndefined();
  });
});
