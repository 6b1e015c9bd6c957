/** Drag and drop of the board's cards. */
export function watchDrags(element, board) {
  const columns = [...element.querySelectorAll('[data-column]')];
  let dragged = null;
  element.addEventListener('dragstart', (event) => {
    dragged = event.target.closest?.('.issue-card[draggable=true]') ?? null;
    if (!dragged) return;
    board.take(dragged.dataset.issue);
    event.dataTransfer.effectAllowed = 'move';
    event.dataTransfer.setData('text/plain', dragged.href);
    dragged.dataset.dragged = '';
  });
  element.addEventListener('dragend', () => {
    if (!dragged) return;
    delete dragged.dataset.dragged;
    dragged = null;
    board.letGo();
    for (const column of columns) delete column.dataset.over;
  });
  for (const column of columns) {
    column.addEventListener('dragover', (event) => {
      if (!dragged) return;
      event.preventDefault();
      column.dataset.over = '';
    });
    column.addEventListener('dragleave', (event) => {
      if (!column.contains(event.relatedTarget)) delete column.dataset.over;
    });
    column.addEventListener('drop', (event) => {
      event.preventDefault();
      delete column.dataset.over;
      if (dragged) board.move(dragged.dataset.issue, column.dataset.column);
    });
  }
}
