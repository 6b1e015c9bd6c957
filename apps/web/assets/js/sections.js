// Remembers which groups of sections somebody has unfolded: the next pages are rendered like that, without a flicker.
const NAME = 'service_sections';
const YEAR_SEC = 31_536_000;

/** @param open whether somebody has unfolded the group, or folded it */
export function remember(section, open) {
  const names = new Set(remembered());
  if (open) names.add(section);
  else names.delete(section);
  document.cookie = `${NAME}=${[...names].join('.')}; path=/; max-age=${YEAR_SEC}; samesite=lax`;
}

function remembered() {
  const entry = document.cookie.split('; ').find((each) => each.startsWith(`${NAME}=`)) ?? '';
  return entry
    .slice(NAME.length + 1)
    .split('.')
    .filter(Boolean);
}
