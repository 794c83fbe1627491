import type { Tone } from '../format/terminal';

const TONES: Readonly<Record<string, Tone>> = {
  refused: 'bad',
  alarm: 'bad',
  'repair-failed': 'bad',
  drifted: 'warning',
  gap: 'warning',
  'found-unpinned': 'warning',
  'not-switched': 'warning',
  'annotation-ignored': 'warning',
  'left-out': 'warning',
  'online-cpus-changed': 'warning',
  'cpu-bound-changed': 'warning',
  pinned: 'good',
  repaired: 'good',
  switched: 'good',
  'alarm-over': 'good',
};

/** The tone of a cell of these columns. */
export function toneOfEvent(cell: string, title: string): Tone | undefined {
  if (title === 'KIND') return TONES[cell];
  return cell === '-' || title === 'TIME' ? 'dim' : undefined;
}
