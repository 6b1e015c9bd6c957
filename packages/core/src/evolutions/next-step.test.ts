import { describe, expect, it } from '@jest/globals';
import type { CandidateStatus } from '@acp/contract';
import { drawnParent, minibatchOf } from './draw.ts';
import { paretoFront, winnerOf } from './front.ts';
import { type EvolutionState, nextStep, type StepState } from './next-step.ts';
import { chanceOfWorse } from './rank-test.ts';

interface Candidate {
  number: number;
  parent_number: number | null;
  status: CandidateStatus;
  minibatch: readonly number[];
  score?: number;
}

/**
 * Runs a toy evolution: a candidate has skills, its score on instance `i` is its share of the skills that `i` requires, and each
 * reflection adds the skill that its first failing instance lacks.
 */
function play(
  settings: Partial<EvolutionState> = {},
  fails: (step: StepState) => string | null = () => null,
) {
  const instances = Array.from({ length: 16 }, (_, ordinal) => ({
    ordinal,
    split: ordinal < 10 ? 'held_out' : 'train',
  }));
  const candidates: Candidate[] = [{ number: 0, parent_number: null, status: 'scoring', minibatch: [] }];
  const skills: Set<number>[] = [new Set()];
  const steps: StepState[] = [];
  const score = (number: number, ordinal: number): number => (skills[number]!.has(ordinal % 4) ? 1 : 0);
  for (let turn = 0; turn < 5000; turn += 1) {
    const next = nextStep({
      id: 'toy',
      max_rollouts: 300,
      max_cost_usd: 100,
      parallel: 3,
      instances,
      candidates,
      steps,
      ...settings,
    });
    if (next.what === 'finish' || next.what === 'fail') return { next, candidates, steps };
    if (next.what === 'settle') Object.assign(candidates[next.number]!, next);
    if (next.what === 'propose') candidates.push({ number: candidates.length, status: 'proposed', ...next });
    if (next.what === 'ask') {
      if (next.steps.length > 3) throw new Error('too many at once');
      for (const key of next.steps) {
        const known = steps.find(
          (each) =>
            each.candidate_number === key.candidate_number &&
            each.kind === key.kind &&
            each.ordinal === key.ordinal,
        );
        if (known?.status === 'done') throw new Error('asked for twice');
        const step = known ?? {
          ...key,
          status: '',
          attempts: 0,
          score: null,
          cost_usd: 0,
          error: null,
          error_category: null,
        };
        if (known === undefined) steps.push(step);
        const error = fails({ ...step, attempts: step.attempts + 1 });
        Object.assign(step, {
          status: error === null ? 'done' : 'failed',
          error,
          attempts: step.attempts + 1,
        });
        step.cost_usd += 0.1;
        if (key.kind === 'judge') step.score = score(key.candidate_number, key.ordinal);
        if (key.kind === 'reflect' && error === null) {
          const own = candidates[key.candidate_number]!;
          const lacking = own.minibatch.find((ordinal) => score(own.parent_number!, ordinal) === 0);
          skills[key.candidate_number] = new Set([...skills[own.parent_number!]!, lacking! % 4]);
          own.status = 'trial';
        }
      }
    }
    if (next.what === 'wait') throw new Error('nothing is under way');
  }
  throw new Error('it does not end');
}

describe('an evolution', () => {
  it('of a toy goes from nothing to all that can be learnt', () => {
    const { next, candidates } = play();
    expect(next).toMatchObject({ what: 'finish', note: null });
    const best = Math.max(
      ...candidates.flatMap(({ status, score = 0 }) => (status === 'scored' ? [score] : [])),
    );
    expect([candidates[0]!.score, best]).toEqual([0, 1]);
  });

  it('keeps to its rollouts and its cost', () => {
    const few = play({ max_rollouts: 30 });
    expect(few.steps.filter(({ kind }) => kind === 'rollout').length).toBeLessThanOrEqual(30);
    const poor = play({ max_cost_usd: 1 });
    expect(poor.next).toEqual({ what: 'finish', note: 'its limit of cost is reached' });
    expect(poor.steps.length).toBeLessThan(14);
  });

  it('gives up where the beginning fails thrice; a candidate that does counts 0 and is rejected', () => {
    const hopeless = play({}, ({ ordinal }) => (ordinal === 3 ? 'the model is away' : null));
    expect(hopeless.next).toEqual({ what: 'fail', error: 'the model is away' });
    expect(hopeless.steps.find(({ ordinal }) => ordinal === 3)?.attempts).toBe(3);
    const mute = play({ max_rollouts: 60 }, ({ candidate_number, kind }) =>
      candidate_number > 0 && kind === 'rollout' ? 'the answer was empty' : null,
    );
    expect(mute.next).toMatchObject({ what: 'finish' });
    expect(mute.candidates.slice(1).every(({ status }) => status === 'rejected')).toBe(true);
  });

  it('rejects what the reflection could not write', () => {
    const { candidates } = play({ max_rollouts: 60 }, ({ kind }) =>
      kind === 'reflect' ? 'unreadable' : null,
    );
    expect(candidates.at(-1)).toMatchObject({
      status: 'rejected',
      reason: 'The reflection gave no usable prompt.',
    });
  });
});

describe('draws', () => {
  it('are the same for whoever draws, and give each issue its turn before one comes again', () => {
    const train = [10, 11, 12, 13, 14, 15];
    const drawn = [1, 2].flatMap((number) => minibatchOf('x', number, train));
    expect(new Set(drawn)).toEqual(new Set(train));
    expect(drawn).toHaveLength(train.length);
    expect(minibatchOf('x', 1, train)).toEqual(minibatchOf('x', 1, train));
    const scores = new Map([
      [0, [1, 0, 0]],
      [1, [0, 1, 1]],
      [2, [0, 0, 0]],
    ]);
    const parents = Array.from({ length: 60 }, (_, number) => drawnParent('x', number, scores));
    expect(new Set(parents)).toEqual(new Set([0, 1]));
    expect(parents.filter((each) => each === 1).length).toBeGreaterThan(30);
  });
});

describe('the front', () => {
  it('holds what is not beaten in both, and the winner is the cheapest of the best', () => {
    const base = { number: 0, score: 0.5, cost_usd: 1 };
    const dear = { number: 1, score: 0.8, cost_usd: 3 };
    const cheap = { number: 2, score: 0.795, cost_usd: 2 };
    const beaten = { number: 3, score: 0.7, cost_usd: 4 };
    expect(paretoFront([base, dear, cheap, beaten])).toEqual([base, dear, cheap]);
    expect(winnerOf([base, dear, cheap, beaten])).toBe(cheap);
    expect(winnerOf([base, { ...beaten, score: 0.5, cost_usd: 0.1 }])).toBeUndefined();
  });
});

describe('the rank-sum test', () => {
  const of = (ones: number, zeros: number): number[] => [
    ...Array.from({ length: ones }, () => 1),
    ...Array.from({ length: zeros }, () => 0),
  ];
  it('tells what is worse from what is chance', () => {
    expect(chanceOfWorse(of(20, 0), of(8, 12))).toBeLessThan(0.001);
    expect(chanceOfWorse(of(20, 0), of(19, 1))).toBeGreaterThan(0.05);
    expect(chanceOfWorse(of(10, 10), of(20, 0))).toBeGreaterThan(0.95);
    expect(chanceOfWorse(of(20, 0), of(20, 0))).toBe(1);
  });

  it.each([
    [
      [1, 1, 0.9, 1, 0.6, 1, 1, 0],
      [0, 1, 0.9, 0.6, 0, 0, 1, 0.9],
    ],
    [
      [5, 6, 7, 8, 9, 10, 11, 12],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ],
    [
      [1, 2, 3, 4, 5, 6, 7, 8],
      [1, 2, 3, 4, 5, 6, 7, 8],
    ],
  ])('of %p and %p is near to what all ways to part them say', (before, after) => {
    const all = [...before, ...after];
    const winsOf = (own: readonly number[], other: readonly number[]): number =>
      own.reduce((sum, a) => sum + other.reduce((n, b) => n + (a > b ? 1 : a === b ? 0.5 : 0), 0), 0);
    const seen = winsOf(after, before);
    let [parted, asLow] = [0, 0];
    for (let mask = 0; mask < 2 ** all.length; mask += 1) {
      const own = all.filter((_, at) => Math.floor(mask / 2 ** at) % 2 === 1);
      if (own.length !== after.length) continue;
      parted += 1;
      if (
        winsOf(
          own,
          all.filter((_, at) => Math.floor(mask / 2 ** at) % 2 === 0),
        ) <= seen
      )
        asLow += 1;
    }
    expect(Math.abs(chanceOfWorse(before, after) - asLow / parted)).toBeLessThan(0.025);
  });
});
