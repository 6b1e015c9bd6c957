/** Trees and chains of a bundle: no cycles, no more levels than the service walks. Pure; no recursion. */
import type { CompanyBundle } from '@acp/contract';
import { invalid, said } from '@acp/kernel';
import { DEEPEST } from '../trash/index.ts';
import { listOf, placeOf } from './bundle-places.ts';

const trees = { agents: 'reports_to', goals: 'parent', issues: 'parent' } as const;

/** @throws invalid naming the entity where a cycle or an excessive depth is found */
export function checkTrees(bundle: CompanyBundle): void {
  for (const [list, field] of Object.entries(trees) as ['agents' | 'goals' | 'issues', string][]) {
    const entities = listOf(bundle, list);
    const above = new Map(
      entities.map((entity) => [entity.slug, Reflect.get(entity, field) as string | null | undefined]),
    );
    const levels = new Map<string, number>();
    for (const [index, { slug }] of entities.entries()) {
      const path: string[] = [];
      const onPath = new Set<string>();
      let step: string | null | undefined = slug;
      while (step && !levels.has(step)) {
        if (onPath.has(step)) throw invalid(said`${placeOf(list, index, field)} creates a cycle`);
        onPath.add(step);
        path.push(step);
        step = above.get(step);
      }
      let level = step ? levels.get(step)! : 0;
      for (const each of path.toReversed()) levels.set(each, ++level);
      // The depth of reporting lines is unlimited; the database never walks them.
      if (list !== 'agents' && level > DEEPEST)
        throw invalid(said`${placeOf(list, index, field)}: at most ${DEEPEST} levels`);
    }
  }
}

/** `blocks` leads from source to target, `depends_on` from target to source. @throws invalid like `checkTrees` */
export function checkRelations(bundle: CompanyBundle): void {
  const issues = listOf(bundle, 'issues');
  const next = new Map<string, string[]>(issues.map(({ slug }) => [slug, []]));
  const waiting = new Map<string, number>(issues.map(({ slug }) => [slug, 0]));
  for (const [index, { slug, relations = [] }] of issues.entries()) {
    const blocks = new Set(relations.filter(({ type }) => type === 'blocks').map(({ target }) => target));
    for (const [at, { type, target }] of relations.entries()) {
      if (target === slug)
        throw invalid(
          said`${placeOf('issues', index, `relations.${at}`)}: an issue cannot be related to itself`,
        );
      if (type === 'relates_to') continue;
      // An issue may both block another one and depend on it: as for `createRelation`, that alone is no cycle.
      if (type === 'depends_on' && blocks.has(target)) continue;
      const [first, second] = type === 'blocks' ? [slug, target] : [target, slug];
      next.get(first)!.push(second);
      waiting.set(second, waiting.get(second)! + 1);
    }
  }
  const free = [...waiting].filter(([, count]) => count === 0).map(([slug]) => slug);
  for (let slug = free.pop(); slug !== undefined; slug = free.pop()) {
    waiting.delete(slug);
    for (const blocked of next.get(slug)!) {
      const left = waiting.get(blocked)! - 1;
      waiting.set(blocked, left);
      if (left === 0) free.push(blocked);
    }
  }
  const [stuck] = waiting.keys();
  if (stuck === undefined) return;
  const index = issues.findIndex(({ slug }) => slug === stuck);
  throw invalid(said`${placeOf('issues', index, 'relations')}: the issues would block each other in a cycle`);
}
