-- A question of a domain that the table domain lacks.
SELECT question, domain
FROM question
ANTI JOIN domain USING (domain);
