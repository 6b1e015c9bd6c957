// Remembers which groups of sections somebody has unfolded: the next pages are rendered like that, without a flicker.
const NAME = 'service_sections';
const YEAR_SEC = 31_536_000;

export function startSections() {
  // A click of the pointer or the keyboard, which comes before the fold: a group that a page opens by itself is not remembered.
  document.querySelector('.sections')?.addEventListener('click', ({ target }) => {
    const group = target.closest('summary')?.parentElement;
    if (!group) return;
    const names = new Set(remembered());
    if (group.open) names.delete(group.dataset.section);
    else names.add(group.dataset.section);
    document.cookie = `${NAME}=${[...names].join('.')}; path=/; max-age=${YEAR_SEC}; samesite=lax`;
  });
}

function remembered() {
  const entry = document.cookie.split('; ').find((each) => each.startsWith(`${NAME}=`)) ?? '';
  return entry
    .slice(NAME.length + 1)
    .split('.')
    .filter(Boolean);
}
