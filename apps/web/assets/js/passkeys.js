// Passkeys: the browser's own dialogue between two requests. Without it the forms for password and code remain.
import { t } from './texts.js';

const send = async (path, body) => {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => null);
  // A proxy may have answered.
  const answer = await response?.json().catch(() => null);
  if (!response?.ok || !answer) throw new Error(answer?.error);
  return answer;
};

async function signIn(button) {
  const options = await send('/login/passkey/options', { next: button.dataset.next });
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const credential = await navigator.credentials.get({ publicKey });
  const { next } = await send('/login/passkey', credential.toJSON());
  location.assign(next);
}

async function add(button) {
  const name = button.form.elements.name.value.trim() || 'Passkey';
  const options = await send('/api/me/passkeys/options', {});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  const credential = await navigator.credentials.create({ publicKey });
  const { recovery_codes } = await send('/api/me/passkeys', { name, response: credential.toJSON() });
  if (recovery_codes) showCodes(button, recovery_codes);
  else location.assign('/profile/security?done=passkey');
}

// The codes are shown only once: the page stays until the reader continues.
function showCodes(button, codes) {
  const once = document.querySelector('[data-recovery-codes]');
  once.querySelector('code').textContent = codes.join('\n');
  once.hidden = false;
  once.focus();
  button.disabled = true;
}

const acts = { 'sign-in': signIn, add };

function refusal(error) {
  if (error.name === 'NotAllowedError') return t`The passkey was not used.`;
  if (error.name === 'InvalidStateError') return t`This device has a passkey for your account already.`;
  return error.message || t`The passkey could not be used.`;
}

async function act(button) {
  const line = button.parentElement.querySelector('[data-passkey-error]');
  line.hidden = true;
  button.disabled = true;
  try {
    await acts[button.dataset.passkey](button);
  } catch (error) {
    line.textContent = refusal(error);
    line.hidden = false;
    button.disabled = false;
    if (document.activeElement === document.body) button.focus();
  }
}

const known =
  typeof PublicKeyCredential === 'function' && 'parseRequestOptionsFromJSON' in PublicKeyCredential;
for (const button of document.querySelectorAll('[data-passkey]')) {
  // With the name that goes with it.
  (button.closest('form[hidden]') ?? button).hidden = !known;
  button.addEventListener('click', (event) => {
    event.preventDefault();
    void act(button);
  });
}
