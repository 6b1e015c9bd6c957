/** Org chart: a tree that folds without script; script adds zoom and arrow keys (assets/js/org-chart.js). */
import type { AgentOutline } from '@acp/core';
import { words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural } from '../kit/language.ts';
import { avatar, status } from '../kit/parts.ts';

/** With more agents than this, only the top level starts unfolded. */
const ALL_OPEN = 40;
/** Of levels: browsers nest elements no deeper than 512. */
const DEEPEST = 100;

export function orgChart(agents: readonly AgentOutline[]): Html {
  const reports = reportsOf(agents);
  const open = agents.length <= ALL_OPEN ? Infinity : 1;
  return html`<div class="org scroll-x" tabindex="0" aria-label="Who reports to whom" role="region">
    !${branch(reports, null, 0, open)}
  </div>`;
}

/** Outside the part that refreshes itself, so that choices persist. None of it works without script. */
export const orgControls = (): Html =>
  html`<div class="buttons org-controls" data-script-only>
    <button type="button" class="quiet small" data-org="out" aria-label="Smaller">−</button>
    <button type="button" class="quiet small" data-org="in" aria-label="Larger">+</button>
    <button type="button" class="quiet small" data-org="fit">Fit</button>
    <button type="button" class="quiet small" data-org="unfold">Expand all</button>
    <button type="button" class="quiet small" data-org="fold">Collapse all</button>
    <span class="soft small">Arrow keys move between agents; + and − zoom.</span>
  </div>`;

type Reports = ReadonlyMap<string | null, readonly AgentOutline[]>;

/** Agents by superior, sorted by name. Agents whose superior is gone are at the top, and so is one of each cycle. */
function reportsOf(agents: readonly AgentOutline[]): Reports {
  const bosses = new Map(agents.map(({ id, reports_to }) => [id, reports_to]));
  const heads = headsOfCycles(bosses);
  const byName = agents.toSorted((a, b) => a.name.localeCompare(b.name));
  return Map.groupBy(byName, ({ id, reports_to: to }) =>
    to === null || !bosses.has(to) || heads.has(id) ? null : to,
  );
}

/** The first by id of each cycle. Every agent is visited once: chains may be as long as there are agents. */
function headsOfCycles(bosses: ReadonlyMap<string, string | null>): Set<string> {
  const heads = new Set<string>();
  /** Agents, each with the one from which it was come to first. */
  const visited = new Map<string, string>();
  for (const start of bosses.keys()) {
    let at: string | null | undefined = start;
    for (; at && bosses.has(at) && !visited.has(at); at = bosses.get(at)) visited.set(at, start);
    if (!at || visited.get(at) !== start) continue;
    let head = at;
    for (let next = bosses.get(at)!; next !== at; next = bosses.get(next)!) if (next < head) head = next;
    heads.add(head);
  }
  return heads;
}

function branch(reports: Reports, boss: string | null, depth: number, open: number): Html {
  const below = reports.get(boss) ?? [];
  // Many agents without reports are stacked in columns: side by side they would be wider than any screen.
  const stacked = depth > 0 && below.length > 3 && below.every(({ id }) => !reports.has(id));
  return html`<ul class="tree" !${attributes({ 'data-stack': stacked })}>
    !${each(below, (agent) => {
      const count = reports.get(agent.id)?.length ?? 0;
      return html`<li>
        !${agentLine(agent)}!${when(count > 0 && plural(count, '# report', '# reports'), (counted) =>
          depth < DEEPEST
            ? html`<details data-fold="${agent.id}" !${attributes({ open: depth < open })}>
                <summary>${counted}<span class="sr-only">, ${agent.name}</span></summary>
                !${branch(reports, agent.id, depth + 1, open)}
              </details>`
            : html`<span class="soft">${counted}</span>`,
        )}
      </li>`;
    })}
  </ul>`;
}

function agentLine({ id, name, title, role, status: state }: AgentOutline): Html {
  return html`<div class="agent-line">
    !${avatar(name)}
    <a href="/agents/${id}">${name}</a>
    <span class="soft">${title ?? words(role)}</span>
    <span class="grow"></span>
    !${status(state)}
  </div>`;
}
