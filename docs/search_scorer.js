// A page comes first if its title has the words of the question; source and lists come last.
var Scorer = (() => {
  const last = /^(api|_modules|pages\/(tests\/|changelog|contributing|project|teaching))/;
  const asked = new URLSearchParams(location.search).get("q") ?? "";
  const words = asked.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return {
    score([page, title, , , score]) {
      const named = words.filter((word) => title.toLowerCase().includes(word)).length;
      return score + (20 * named) / Math.max(words.length, 1) - (last.test(page) ? 10 : 0);
    },
    objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
    title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  };
})();
