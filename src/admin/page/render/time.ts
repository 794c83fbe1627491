import { formatTime } from '../../../core/text';
import { html, type Html } from './html';

/** Times of our own texts; those have no fractions of a second. */
const TIME = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A time of the API. The script shows its age instead, and keeps the time itself for those who point at it. */
export function drawTime(time: string): Html {
  return html`<time datetime="${time}">${formatTime(time)}</time>`;
}

/** A text with its times marked as such. */
export function drawTimesIn(text: string): Html {
  const parts = text.split(TIME).map((part, index) => (index % 2 === 1 ? drawTime(part) : html`${part}`));
  return html`${parts}`;
}
