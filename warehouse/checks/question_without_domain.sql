-- Questions whose domain the table domain lacks.
SELECT question, domain
FROM question
ANTI JOIN domain USING (domain);
