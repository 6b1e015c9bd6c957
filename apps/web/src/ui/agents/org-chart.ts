/** Org chart: a tree that folds without script; script adds zoom and arrow keys (assets/js/org-chart.js). */
import type { AgentOutline } from '@acp/core';
import { words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural } from '../kit/language.ts';
import { avatar, status } from '../kit/parts.ts';

/** With more agents than this, only the top level starts unfolded. */
const ALL_OPEN = 40;

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

/** Agents by superior, sorted by name. Agents whose superior is gone or in a cycle with them are at the top. */
function reportsOf(agents: readonly AgentOutline[]): Reports {
  const bosses = new Map(agents.map(({ id, reports_to }) => [id, reports_to]));
  const topOf = ({ id, reports_to: to }: AgentOutline): string | null => {
    if (to === null || !bosses.has(to)) return null;
    const seen = new Set([id]);
    for (let above: string | null | undefined = to; above; above = bosses.get(above)) {
      if (above === id) return [...seen].toSorted()[0] === id ? null : to;
      if (seen.has(above)) break;
      seen.add(above);
    }
    return to;
  };
  const byName = agents.toSorted((a, b) => a.name.localeCompare(b.name));
  return Map.groupBy(byName, topOf);
}

function branch(reports: Reports, boss: string | null, depth: number, open: number): Html {
  const below = reports.get(boss) ?? [];
  // Many agents without reports are stacked in columns: side by side they would be wider than any screen.
  const stacked = depth > 0 && below.length > 3 && below.every(({ id }) => !reports.has(id));
  return html`<ul class="tree" !${attributes({ 'data-stack': stacked })}>
    !${each(below, (agent) => {
      const count = reports.get(agent.id)?.length ?? 0;
      return html`<li>
        !${agentLine(agent)}!${when(
          count > 0,
          () =>
            html`<details data-fold="${agent.id}" !${attributes({ open: depth < open })}>
              <summary>
                ${plural(count, '# report', '# reports')}<span class="sr-only">, ${agent.name}</span>
              </summary>
              !${branch(reports, agent.id, depth + 1, open)}
            </details>`,
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
