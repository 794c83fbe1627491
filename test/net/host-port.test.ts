import { formatHostPort, isLoopback } from '../../src/net/host-port';

test.each`
  name                                      | host           | want
  ${'an IPv4 address stands as it is'}      | ${'127.0.0.1'} | ${'127.0.0.1:80'}
  ${'a host name stands as it is'}          | ${'localhost'} | ${'localhost:80'}
  ${'an IPv6 address gets square brackets'} | ${'fd00::1'}   | ${'[fd00::1]:80'}
`('$name', ({ host, want }) => {
  expect(formatHostPort({ host: host as string, port: 80 })).toBe(want);
});

test.each`
  host                | want
  ${'127.0.0.1'}      | ${true}
  ${'127.1.2.3'}      | ${true}
  ${'::1'}            | ${true}
  ${'localhost'}      | ${true}
  ${'0.0.0.0'}        | ${false}
  ${'::'}             | ${false}
  ${''}               | ${false}
  ${'127.0.0.1.test'} | ${false}
  ${'localhost.test'} | ${false}
  ${'10.127.0.1'}     | ${false}
`('$host is loopback: $want', ({ host, want }: { host: string; want: boolean }) => {
  expect(isLoopback({ host, port: 1 })).toBe(want);
});
