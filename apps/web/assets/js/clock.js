// The exact time in the person's time zone, in front of the server's, which is in UTC.
const { zone } = document.documentElement.dataset;
const { lang } = document.documentElement;
// The browser knows the country for its own language only.
const clock = new Intl.DateTimeFormat(navigator.language.startsWith(lang) ? undefined : lang, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  ...(zone ? { timeZone: zone } : {}),
});

export function addClock(time) {
  if (time.dataset.clock !== undefined) return;
  time.dataset.clock = '';
  time.title = `${clock.format(new Date(time.dateTime))}${zone ? ` ${zone}` : ''}\n${time.title}`;
}
