// The org chart: zoom, folding and unfolding of everything, and arrow keys from agent to agent.
const LEAST = 0.05;
const MOST = 2;
// Unreadable below this scale: the middle of the chart is shown first.
const READABLE = 0.6;
const STEP = 1.2;
let zoom = 1;

const chart = () => document.querySelector('.org');

export function startOrgChart() {
  document.addEventListener('click', ({ target }) => {
    const act = target.closest?.('[data-org]')?.dataset.org;
    if (act) acts[act]();
  });
  document.addEventListener('keydown', (event) => {
    if (!event.target.closest?.('.org') || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = keys[event.key];
    if (act === undefined || !act(event.target)) return;
    event.preventDefault();
  });
  acts.fit();
  zoomTo(Math.max(READABLE, zoom));
  const place = chart();
  place.scrollLeft = (place.scrollWidth - place.clientWidth) / 2;
  // A refreshed part keeps its scale.
  document.addEventListener('htmx:after:swap', show);
}

function show() {
  const tree = chart()?.querySelector(':scope > .tree');
  if (tree) tree.style.zoom = String(zoom);
}

function zoomTo(wanted) {
  zoom = Math.min(MOST, Math.max(LEAST, wanted));
  show();
  return true;
}

const foldAll = (open) => {
  for (const details of chart()?.querySelectorAll('details') ?? []) details.open = open;
};

const acts = {
  in: () => zoomTo(zoom * STEP),
  out: () => zoomTo(zoom / STEP),
  fit: () => {
    zoomTo(1);
    const { clientWidth, scrollWidth } = chart();
    zoomTo(Math.min(1, clientWidth / scrollWidth));
  },
  fold: () => foldAll(false),
  unfold: () => foldAll(true),
};

/** Visible boxes, from top to bottom. */
const boxes = () =>
  [...(chart()?.querySelectorAll('.agent-line a') ?? [])].filter((link) => link.checkVisibility());

const itemOf = (element) => element.closest('.org li');
const goTo = (link) => {
  link?.focus();
  return true;
};

function step(from, by) {
  const all = boxes();
  const here = all.indexOf(itemOf(from)?.querySelector('.agent-line a'));
  return goTo(all[Math.min(all.length - 1, Math.max(0, here + by))]);
}

const keys = {
  '+': acts.in,
  '-': acts.out,
  ArrowDown: (from) => step(from, 1),
  ArrowUp: (from) => step(from, -1),
  // Into the boxes below, unfolding them first; and back out, folding first.
  ArrowRight: (from) => {
    const details = itemOf(from)?.querySelector(':scope > details');
    if (!details) return false;
    if (details.open) return step(from, 1);
    details.open = true;
    return true;
  },
  ArrowLeft: (from) => {
    const item = itemOf(from);
    const details = item?.querySelector(':scope > details');
    if (details?.open) {
      details.open = false;
      return goTo(item.querySelector('.agent-line a'));
    }
    const above = item?.parentElement.closest('.org li');
    return above ? goTo(above.querySelector('.agent-line a')) : false;
  },
};
