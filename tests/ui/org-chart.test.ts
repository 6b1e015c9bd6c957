import { describe, expect, it } from '@jest/globals';
import type { Agent } from '@acp/contract';
import { orgChart } from '../../apps/web/src/ui/agents/org-chart.ts';

const agent = (id: string, reports_to: string | null): Agent =>
  ({ id, reports_to, name: `Agent ${id}`, title: null, role: 'general', status: 'idle' }) as Agent;

const linksIn = (text: string) => [...text.matchAll(/href="\/agents\/([^"]+)"/g)].map(([, id]) => id!);

describe('the org chart', () => {
  it('puts each agent below whom it reports to, once, and folds what is below', () => {
    const text = orgChart([agent('b', 'a'), agent('c', 'b'), agent('a', null)]);
    expect(linksIn(text)).toEqual(['a', 'b', 'c']);
    expect(text.match(/<details/g)).toHaveLength(2);
    expect(text).toMatch(/1 report<span class="sr-only">, Agent a</);
  });

  it('leaves nobody out: neither those of a superior who is gone nor those who report in a circle', () => {
    const circle = [
      agent('x', 'y'),
      agent('y', 'z'),
      agent('z', 'x'),
      agent('w', 'x'),
      agent('lost', 'gone'),
    ];
    expect(linksIn(orgChart(circle)).toSorted()).toEqual(['lost', 'w', 'x', 'y', 'z']);
  });

  it('of five hundred shows the top unfolded, and the rest in columns below', () => {
    const agents = [agent('top', null)];
    for (let at = 0; at < 20; at += 1) agents.push(agent(`m${at}`, 'top'));
    for (let at = 0; at < 479; at += 1) agents.push(agent(`w${at}`, `m${at % 20}`));
    const text = orgChart(agents);
    expect(linksIn(text)).toHaveLength(500);
    expect(text.match(/<details[^>]* open/g)).toHaveLength(1);
    expect(text.match(/data-stack/g)).toHaveLength(20);
  });

  it('of ten thousand who report to one another in a row ends where browsers nest no deeper', () => {
    const agents = Array.from({ length: 10_000 }, (_, at) => agent(`${at}`, at === 0 ? null : `${at - 1}`));
    const text = orgChart(agents);
    expect(linksIn(text)).toEqual(Array.from({ length: 101 }, (_, at) => `${at}`));
    expect(text).toMatch(/<span class="soft">1 report<\/span>/);
    const circle = agents.map(({ id, reports_to }) => agent(id, reports_to ?? '9999'));
    expect(linksIn(orgChart(circle))).toHaveLength(101);
  });
});
