import { formatHostPort } from '../../src/net/host-port';

test.each`
  name                                      | host           | want
  ${'an IPv4 address stands as it is'}      | ${'127.0.0.1'} | ${'127.0.0.1:80'}
  ${'a host name stands as it is'}          | ${'localhost'} | ${'localhost:80'}
  ${'an IPv6 address gets square brackets'} | ${'fd00::1'}   | ${'[fd00::1]:80'}
`('$name', ({ host, want }) => {
  expect(formatHostPort({ host: host as string, port: 80 })).toBe(want);
});
