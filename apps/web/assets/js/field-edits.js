// Changes a field's text by script as if it were typed: what was typed can still be undone.

/** In place of what is selected, with the caret behind it. */
export function insert(field, text) {
  if (typed(field, text)) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
  changed(field);
}

/** The caret and the selection stay where they are in the text. */
export function replace(field, old, text) {
  const at = field.value.indexOf(old);
  if (at < 0) return;
  const { selectionStart, selectionEnd, selectionDirection, scrollTop } = field;
  const end = at + old.length;
  const moved = (offset) =>
    offset >= end ? offset + text.length - old.length : Math.min(offset, at + text.length);
  if (document.activeElement === field) {
    field.setSelectionRange(at, end);
    if (typed(field, text)) {
      field.setSelectionRange(moved(selectionStart), moved(selectionEnd), selectionDirection);
      field.scrollTop = scrollTop;
      return;
    }
    field.setSelectionRange(selectionStart, selectionEnd, selectionDirection);
  }
  field.setRangeText(text, at, end, 'preserve');
  changed(field);
}

const changed = (field) => field.dispatchEvent(new Event('input', { bubbles: true }));

/** The only way that keeps the field's history; browsers without it, and fields without the focus, lose that. */
function typed(field, text) {
  if (document.activeElement !== field || field.readOnly) return false;
  return document.execCommand(text === '' ? 'delete' : 'insertText', false, text);
}
