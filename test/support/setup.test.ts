test('a regular expression is equal to no text: expect.stringMatching compares', () => {
  expect(() => expect({ of: 'text' }).toMatchObject({ of: /text/ })).toThrow('toMatchObject');
  expect(() => expect(['text']).toMatchObject([/text/])).toThrow('toMatchObject');
  expect({ of: 'text', regExp: /text/ }).toMatchObject({ of: expect.stringMatching(/x/) as string, regExp: /text/ });
});
