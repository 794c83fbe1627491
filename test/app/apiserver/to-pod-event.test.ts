import { toPodEvent } from '../../../src/app/apiserver/to-pod-event';
import { buildTopology } from '../../../src/core/topology';
import { NodeDriver } from '../../core/transition/node-driver';
import { createRandom } from '../../support/random';
import { randomText, unsafeIn } from '../../support/unsafe-text';

/** The maximum length of the message of an Event in the API server. */
const LONGEST_MESSAGE = 1_024;

test('a random reason gives a message of one harmless line within the length limit', () => {
  const topology = buildTopology({
    cpus: Array.from({ length: 4 }, (_, id) => ({ id, core: id, socket: 0, numaNode: 0, uncoreCache: 0 })),
  });
  const node = new NodeDriver(topology, {});
  node.run('make web/a 1');
  const random = createRandom(9);
  for (let i = 0; i < 200; i++) {
    const because = randomText(random, random.int(0, 2_000));
    const container = randomText(random, 20);
    const news = toPodEvent(node.model, {
      kind: 'refused',
      subject: { podUid: 'web', pod: 'ns/web', container },
      code: 'INTERNAL',
      because,
      problem: undefined,
    });
    expect(unsafeIn(news!.message)).toBeUndefined();
    expect(news!.message.length).toBeLessThanOrEqual(LONGEST_MESSAGE);
  }
});
