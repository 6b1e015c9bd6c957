// Forms with a button of value `preview`: shows their effect in place, so that a chosen file stays chosen.
import { busy } from './feedback.js';
import { t } from './texts.js';

export function startPreviews() {
  document.addEventListener('submit', (event) => {
    const { target: form, submitter } = event;
    if (!form.dataset.preview || submitter?.value !== 'preview') return;
    event.preventDefault();
    // Includes the button's value, which a disabled button would not have.
    const body = new FormData(form, submitter);
    const rest = busy(submitter);
    // What the preview shows is decided on, so not before it is there.
    const others = [...form.querySelectorAll('button:not([type=button])')].filter(
      (each) => each !== submitter,
    );
    for (const other of others) other.disabled = true;
    void show(form, body).finally(() => {
      for (const other of others) other.disabled = false;
      rest();
      leadTo(document.querySelector(form.dataset.preview));
    });
  });
}

/** It is below the form, and may be below the window. */
function leadTo(place) {
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: 'start' });
}

async function show(form, body) {
  const place = document.querySelector(form.dataset.preview);
  const answer = await fetch(form.action, { method: 'POST', body }).catch(() => null);
  const page = new DOMParser().parseFromString((await answer?.text().catch(() => '')) ?? '', 'text/html');
  const effect = page.querySelector(form.dataset.preview);
  const error = page.querySelector('main .form-error, main [role=alert]');
  if (answer?.ok && effect) place.replaceChildren(...effect.childNodes);
  else if (error) place.replaceChildren(error);
  // Also if somebody else answered, such as a proxy.
  else place.textContent = t`The service could not be reached. Nothing is changed.`;
}
