// A click on a line number opens the file's comment form below that line. Without script the form asks for the number.
export function startDiff() {
  document.addEventListener('click', (event) => {
    const cell = event.target.closest('.diff .n[data-side]');
    if (cell && cell.textContent !== '') openBelow(cell);
  });
}

function openBelow(cell) {
  const row = cell.parentElement;
  const form = row.closest('.diff-file').querySelector('.remark-form');
  if (!form) return;
  const { line, side, line_text, body_markdown } = form.querySelector('form').elements;
  line.value = cell.textContent;
  side.value = cell.dataset.side;
  // The text of that side: the next cell, or, in one column, the only one.
  line_text.value = (
    cell.nextElementSibling.matches('.code') ? cell.nextElementSibling : row.querySelector('.code')
  ).textContent;
  form.open = true;
  placeBelow(row, form);
  body_markdown.focus();
}

function placeBelow(row, form) {
  const former = form.closest('tr');
  const place = document.createElement('tr');
  place.className = 'said';
  const cell = document.createElement('td');
  cell.colSpan = row.cells.length;
  cell.append(form);
  place.append(cell);
  let last = row;
  // Below the line's existing comments.
  while (last.nextElementSibling?.matches('.said')) last = last.nextElementSibling;
  last.after(place);
  former?.remove();
}
