import { connectAdmin, type AdminClient } from '../../../src/admin/client/admin-client';
import { withAdminRig, type AdminRig } from '../with-admin-server';

const allowsProfiles = (): boolean => true;

/** The parts of the profile as one text. */
async function take(client: AdminClient, cpuSeconds: number, stop = new AbortController()): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of client.profile({ cpuSeconds }, stop.signal)) parts.push(part);
  return Buffer.concat(parts).toString('utf8');
}

async function withClient(options: Parameters<AdminRig['start']>[0], use: (client: AdminClient) => Promise<void>) {
  await withAdminRig(async ({ start, socketPath }) => {
    await start(options);
    const client = await connectAdmin(socketPath);
    try {
      await use(client);
    } finally {
      client.close();
    }
  });
}

test('a CPU profile is one that the Chrome DevTools read, of the asked time; the next one can be taken then', async () => {
  await withClient({ allowsProfiles }, async (client) => {
    for (let times = 0; times < 2; times++) {
      const profile = JSON.parse(await take(client, 1)) as Record<'nodes' | 'samples' | 'timeDeltas', unknown[]> &
        Record<'startTime' | 'endTime', number>;
      expect(profile.nodes[0]).toMatchObject({ id: 1, callFrame: { functionName: '(root)' }, children: expect.any(Array) as unknown }); // prettier-ignore
      expect(profile.samples).toHaveLength(profile.timeDeltas.length);
      expect((profile.endTime - profile.startTime) / 1e6).toBeGreaterThanOrEqual(0.99);
    }
  });
});

test('without the option nothing is taken, and the message has the remedy; the option counts as it is at the call', async () => {
  let isOn = false;
  await withClient({ allowsProfiles: () => isOn }, async (client) => {
    await expect(take(client, 1)).rejects.toMatchObject({
      code: 'FAILED_PRECONDITION',
      message: 'profiles are off here: set --profiling on, which needs no restart',
    });
    isOn = true;
    expect(await take(client, 1)).not.toBe('');
  });
  await withClient({}, async (client) => {
    await expect(take(client, 1)).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
  });
});

test.each([0, 61, 4_294_967_295])('%d seconds are refused', async (seconds) => {
  await withClient({ allowsProfiles }, async (client) => {
    await expect(take(client, seconds)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: `a CPU profile takes 1 to 60 seconds, not ${seconds}`,
    });
  });
});

test('one at a time: a second one is refused, and one that is given up ends at once', async () => {
  await withClient({ allowsProfiles }, async (client) => {
    const stop = new AbortController();
    const first = take(client, 60, stop).then(
      () => 'taken',
      (error: unknown) => (error as Error).message,
    );
    const isBusy = async (): Promise<boolean> =>
      take(client, 1).then(
        () => false,
        (error: unknown) => (error as { code: string }).code === 'RESOURCE_EXHAUSTED',
      );
    expect(await isBusy()).toBe(true);
    stop.abort();
    expect(await first).toBe('the profile was not taken to its end');
    while (await isBusy()); // the server hears of it a moment later
  });
});

test('a profile under way does not hold up the end of the server', async () => {
  await withAdminRig(async ({ start, socketPath }) => {
    const server = await start({ allowsProfiles });
    const client = await connectAdmin(socketPath);
    const taking = take(client, 60).catch((error: unknown) => (error as { code: string }).code);
    await expect(take(client, 1)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    await server.close();
    expect(['CANCELLED', 'UNAVAILABLE']).toContain(await taking);
    client.close();
  });
});
