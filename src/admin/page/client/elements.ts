/** The element with this id, which the page always has. */
export function find(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** The input with this id, which the page always has. */
export function findInput(id: string): HTMLInputElement {
  return find(id) as HTMLInputElement;
}

/** The element of a text that has just one. The server has escaped all that is foreign in it. */
export function parse(html: string): Element {
  const template = document.createElement('template');
  template.innerHTML = html;
  return template.content.firstElementChild!;
}
