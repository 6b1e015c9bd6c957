/**
 * A button says that what it began is under way, and cannot be pressed meanwhile.
 * @returns what ends that
 */
export function busy(button, focused = document.activeElement) {
  button.setAttribute('aria-busy', 'true');
  button.disabled = true;
  return () => {
    button.removeAttribute('aria-busy');
    button.disabled = false;
    if (focused === button && document.activeElement === document.body) button.focus();
  };
}
