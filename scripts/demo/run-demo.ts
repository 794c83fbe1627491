import type { Stage } from './stage';
import { playStory, type StoryOptions } from './story';

export interface DemoOptions extends Pick<StoryOptions, 'say' | 'patienceMs'> {
  readonly stage: Stage;
}

/**
 * Plays the story on this stage, and closes the stage in every case. Gives the exit status: 0 when every claim held.
 */
export async function runDemo({ stage, say, patienceMs }: DemoOptions): Promise<number> {
  let failed = 0;
  const check: StoryOptions['check'] = (claim, seen, wanted) => {
    const holds = seen === wanted;
    if (!holds) failed++;
    say(holds ? `   held  ${claim}: ${seen}` : `   WRONG ${claim}: ${seen}, but it should be ${wanted}`);
  };
  let left: readonly string[] = [];
  say(`On ${stage.what}\n`);
  try {
    await playStory(stage, { say, check, patienceMs });
  } finally {
    left = await stage.close();
  }
  check('left of all that was made', left.join(', ') || 'nothing', 'nothing');
  const checks = failed === 1 ? 'check' : 'checks';
  say(failed === 0 ? '\nEvery check held.' : `\n${failed} ${checks} did not hold.`);
  return failed === 0 ? 0 : 1;
}
